import { photoExtensions } from './file-type.js';

/** Most file systems allow 255 bytes. This leaves room for a suffix and a number. */
const maxNameBytes = 200;
const photoExtension = new RegExp(`(\\${photoExtensions.join('|\\')})$`, 'i');

/**
 * The name of a file of a job, on any system: the job's label without the extension of a photo, or its id.
 *
 * @param suffix follows the name, for example `.glb`. For an image it is more than an extension, because the photo may
 *   have that name
 */
export function fileNameOf({ label, task_id }: { label?: string | null; task_id: string }, suffix: string): string {
  let name = (label ?? '')
    .replace(photoExtension, '')
    .replace(/[\p{Cc}<>:"/\\|?*]+/gu, '-')
    .replace(/^[\s.-]+|[\s.]+$/g, '')
    .replace(/^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i, '$1_');
  const encoder = new TextEncoder();
  while (encoder.encode(name).length > maxNameBytes) name = Array.from(name).slice(0, -1).join('');
  return `${name || task_id}${suffix}`;
}
