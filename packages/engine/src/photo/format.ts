/** The format of an image by its first bytes. Its name and media type prove nothing: an SVG called .png is an SVG. */
export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'gif' | 'avif' | 'tiff' | 'heic' | 'svg';

/**
 * The formats `decode` accepts. TIFF has too many variants for untrusted input, and cameras and browsers do not send
 * it.
 */
export const supportedFormats: ReadonlySet<ImageFormat> = new Set(['png', 'jpeg', 'webp', 'gif', 'avif']);

const ascii = (bytes: Uint8Array, start: number, end: number) => String.fromCharCode(...bytes.subarray(start, end));

/** @see https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern */
export function sniffFormat(bytes: Uint8Array): ImageFormat | undefined {
  const head = ascii(bytes, 0, 16);
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (head.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'webp';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'gif';
  if (head.startsWith('II*\0') || head.startsWith('MM\0*')) return 'tiff';
  if (head.slice(4, 8) === 'ftyp') return isobmffFormat(bytes);
  if (/<svg[\s>]/i.test(ascii(bytes, 0, 1024))) return 'svg';
  return undefined;
}

/**
 * AVIF and HEIC share a container. The major brand, or one of the compatible brands after it, tells which one it is.
 */
function isobmffFormat(bytes: Uint8Array): ImageFormat | undefined {
  const brands = ascii(bytes, 8, Math.min(bytes[3] ?? 0, 64));
  if (/avi[fs]/.test(brands)) return 'avif';
  return /hei[cxms]|hev[cxms]|mif1|msf1/.test(brands) ? 'heic' : undefined;
}

/** Describes bytes that are not an image, for an error message. */
export function describeNonImage(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'empty';
  const start = ascii(bytes, 0, 512)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()
    .toLowerCase();
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'an HTML page';
  if (start.startsWith('%pdf-')) return 'a PDF document';
  if (start.startsWith('{') || start.startsWith('[')) return 'JSON';
  return 'something else';
}
