/** How messages name the types that are recognized. */
const descriptions = {
  png: 'a PNG',
  jpeg: 'a JPEG',
  webp: 'a WebP',
  gif: 'a GIF',
  avif: 'an AVIF',
  heic: 'a HEIC photo',
  tiff: 'a TIFF',
  raw: 'a camera RAW file (export a JPEG of it)',
  jxl: 'a JPEG XL image',
  psd: 'a Photoshop document',
  bmp: 'a BMP',
  svg: 'an SVG',
  html: 'an HTML page',
  pdf: 'a PDF document',
  json: 'JSON',
  lfs: 'a Git LFS pointer instead of the image (run `git lfs pull`)',
  apple: 'metadata of macOS about the photo, not the photo itself',
  gzip: 'a gzip archive',
  zip: 'a ZIP archive',
  video: 'a video',
  zeros: 'filled with zeros: its download or copy is not complete',
} as const;
export type FileType = keyof typeof descriptions;

/** Photos may have these formats. Clients convert those that the server rejects. */
const photoFormats: Partial<Record<FileType, { name: string; extensions: readonly string[] }>> = {
  jpeg: { name: 'JPEG', extensions: ['.jpg', '.jpeg'] },
  png: { name: 'PNG', extensions: ['.png'] },
  webp: { name: 'WebP', extensions: ['.webp'] },
  heic: { name: 'HEIC', extensions: ['.heic', '.heif'] },
  avif: { name: 'AVIF', extensions: ['.avif'] },
  gif: { name: 'GIF', extensions: ['.gif'] },
  tiff: { name: 'TIFF', extensions: ['.tif', '.tiff'] },
};

export const isPhotoType = (type: FileType | undefined): boolean => type !== undefined && type in photoFormats;
export const photoFormatNames = Object.values(photoFormats).map(({ name }) => name);
/** The end of a sentence that lists the formats: "Send a JPEG, PNG or …". */
export const photoFormatChoice = photoFormatNames.join(', ').replace(/,(?=[^,]*$)/, ' or');
export const photoExtensions = Object.values(photoFormats).flatMap(({ extensions }) => extensions);

/** Describes the type of a file, to complete a sentence about the file. */
export const describeFileType = (type: FileType | undefined): string =>
  type ? descriptions[type] : 'not a recognized image';

/** `sniffFileType` needs this many of a file's first bytes, or all to tell each camera RAW file from a TIFF. */
export const sniffedBytes = 1_024;

/** First bytes, as Latin-1 text. */
const signatures: readonly (readonly [type: FileType, start: string])[] = [
  ['png', '\x89PNG\r\n\x1a\n'],
  ['jpeg', '\xff\xd8\xff'],
  ['gif', 'GIF87a'],
  ['gif', 'GIF89a'],
  ['raw', 'II*\0\x10\0\0\0CR'],
  ['raw', 'FUJIFILMCCD-RAW'],
  ['raw', 'IIRO'],
  ['raw', 'IIRS'],
  ['raw', 'MMOR'],
  ['raw', 'IIU\0'],
  ['tiff', 'II*\0'],
  ['tiff', 'MM\0*'],
  ['jxl', '\xff\x0a'],
  ['jxl', '\0\0\0\x0cJXL \r\n\x87\n'],
  ['psd', '8BPS'],
  ['bmp', 'BM'],
  ['pdf', '%PDF'],
  ['lfs', 'version https://git-lfs.github.com/spec/'],
  ['apple', '\0\x05\x16\x07'],
  ['gzip', '\x1f\x8b'],
  ['zip', 'PK\x03\x04'],
  ['video', '\x1aE\xdf\xa3'],
];

/**
 * Detects the type of a file from its first bytes. Its name and media type prove nothing: an SVG called .png is an SVG.
 *
 * @see https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern
 */
export function sniffFileType(bytes: Uint8Array): FileType | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, sniffedBytes));
  const type = signatures.find(([, signature]) => start.startsWith(signature))?.[0];
  if (type === 'tiff' && isRaw(bytes)) return 'raw';
  if (type) return type;
  if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) return 'webp';
  if (start.startsWith('ftyp', 4)) {
    // AVIF and HEIC share a container. Its fourth byte is the length of the list of brands, any of which may tell.
    if (start.startsWith('crx ', 8)) return 'raw';
    const brands = start.slice(8, Math.max(8, start.charCodeAt(3)));
    if (/avi[fs]/.test(brands)) return 'avif';
    if (/hei[cxms]|hev[cxms]|mif1|msf1/.test(brands)) return 'heic';
    return /isom|mp4|qt {2}|M4V|3gp/.test(brands) ? 'video' : undefined;
  }
  if (start.length >= 16 && /^\0+$/.test(start)) return 'zeros';
  // A text may begin with a byte order mark, which is three bytes in UTF-8.
  if (/^(\xef\xbb\xbf)?\s*<(!doctype html|html)/i.test(start)) return 'html';
  if (/<svg[\s>]/i.test(start)) return 'svg';
  return /^(\xef\xbb\xbf)?\s*[{[]/.test(start) ? 'json' : undefined;
}

/** Whether the color profile of a HEIC is Display P3, which iPhones use. Its name in the container is UTF-16. */
export function isDisplayP3(heic: Uint8Array): boolean {
  const header = new TextDecoder('latin1').decode(heic.subarray(0, 2 ** 16));
  const at = header.indexOf('colrprof');
  return at >= 0 && header.slice(at, at + 2 ** 12).includes('P\0' + '3');
}

/** Says whether the first directory of a TIFF is that of a camera's sensor, or of the preview beside it. */
function isRaw(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isLittle = bytes[0] === 0x49;
  const at = view.byteLength >= 8 ? view.getUint32(4, isLittle) : view.byteLength;
  if (at + 2 > view.byteLength) return false;
  const end = at + 2 + 12 * view.getUint16(at, isLittle);
  const tags = new Map<number, number>();
  for (let entry = at + 2; entry + 12 <= Math.min(end, view.byteLength); entry += 12) {
    const isShort = view.getUint16(entry + 2, isLittle) === 3;
    const value = isShort ? view.getUint16(entry + 8, isLittle) : view.getUint32(entry + 8, isLittle);
    tags.set(view.getUint16(entry, isLittle), value);
  }
  const [newSubfileType, photometric, subdirectories, dngVersion] = [254, 262, 330, 50_706];
  const isOnlyPage = end + 4 <= view.byteLength && view.getUint32(end, isLittle) === 0;
  const isPreview = tags.get(newSubfileType) === 1 && (isOnlyPage || tags.has(subdirectories));
  const colorFilterArray = 32_803;
  const linearRaw = 34_892;
  return (
    tags.has(dngVersion) || isPreview || [colorFilterArray, linearRaw].some((value) => tags.get(photometric) === value)
  );
}
