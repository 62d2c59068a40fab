import { photoExtensions } from './file-type.js';
import { firstCharacters, oneLine } from './text.js';

/** Request header of `POST /v1/jobs` with the job's label, percent-encoded (docs/job-list.md). */
export const labelHeader = 'x-gen3d-label';

/** The maximum length of a label, in characters (code points). */
export const maxLabelLength = 200;

/** Cleans a label for storage: one line of at most 200 characters. Null if nothing is left. */
export function cleanLabel(text: string): string | null {
  // The second time for a joiner or a space at the cut.
  return oneLine(firstCharacters(oneLine(text), maxLabelLength)) || null;
}

/** Encodes a label for its header. Returns undefined if the label is empty. */
export function encodeLabel(text: string): string | undefined {
  // File names on Windows may contain unpaired surrogates, which UTF-8 cannot represent.
  const label = cleanLabel(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
  return label === null ? undefined : encodeURIComponent(label);
}

/** Makes a label of the last part of a URL's path. Returns null if the path is empty. */
export function labelOfUrl(url: string): string | null {
  const part = new URL(url).pathname.split('/').filter(Boolean).pop() ?? '';
  try {
    return cleanLabel(decodeURIComponent(part));
  } catch {
    return cleanLabel(part); // not UTF-8
  }
}

/** Most file systems allow 255 bytes. This leaves room for a suffix and a number. */
const maxNameBytes = 200;
const photoExtension = new RegExp(`(\\${photoExtensions.join('|\\')})$`, 'i');

/**
 * Returns a file name for a job that is valid on every system: the job's label without the extension of a photo, or its
 * id. It never leads to another folder, even if a server sends text that is not an id.
 *
 * @param suffix follows the name, for example `.glb`. For an image it is more than an extension, because the photo may
 *   have that name
 */
export function fileNameOf({ label, task_id }: { label?: string | null; task_id: string }, suffix: string): string {
  return `${asFileName(label ?? '') || asFileName(task_id) || 'model'}${suffix}`;
}

function asFileName(text: string): string {
  let name = oneLine(text)
    .replace(photoExtension, '')
    .replace(/[<>:"/\\|?*]+/gu, '-')
    .replace(/^[\s.-]+|[\s.]+$/g, '')
    .replace(/^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i, '$1_');
  const encoder = new TextEncoder();
  while (encoder.encode(name).length > maxNameBytes) name = Array.from(name).slice(0, -1).join('');
  return name;
}
