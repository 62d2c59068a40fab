const ascii = (bytes: Uint8Array, from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString('latin1');

/** ISO media files say what they are in their first box; these brands are still pictures and picture sequences. */
const heifBrands = /^(avif|avis|heic|heix|heim|heis|hevc|hevx|mif1|msf1)$/;

/**
 * The kind of picture that the first bytes announce, or undefined. Neither a Content-Type nor a file name is believed.
 * SVG is left out on purpose: it is a program for drawing, not a photo.
 */
export function sniffImage(bytes: Uint8Array): string | undefined {
  if (ascii(bytes, 0, 8) === '\x89PNG\r\n\x1a\n') return 'png';
  if (ascii(bytes, 0, 3) === '\xff\xd8\xff') return 'jpeg';
  if (ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP') return 'webp';
  if (/^GIF8[79]a/.test(ascii(bytes, 0, 6))) return 'gif';
  if (ascii(bytes, 0, 4) === 'II*\0' || ascii(bytes, 0, 4) === 'MM\0*') return 'tiff';
  if (ascii(bytes, 4, 8) === 'ftyp' && heifBrands.test(ascii(bytes, 8, 12))) return 'heif';
  return undefined;
}

/** What the bytes are instead of a photo, for the sentence a person reads. */
export function describeNonImage(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'nothing';
  const start = ascii(bytes, 0, 512)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()
    .toLowerCase();
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'an HTML page';
  if (/^(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!doctype svg[^>]*>\s*)?<svg/s.test(start)) return 'an SVG drawing';
  if (start.startsWith('%pdf-')) return 'a PDF document';
  if (start.startsWith('{') || start.startsWith('[')) return 'JSON';
  return 'something else';
}
