type Signature = readonly [name: string, offset: number, bytes: string];

// Bytes as Latin-1 text, as the specifications write them.
const supported: readonly Signature[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/webp', 8, 'WEBP'],
];

const unsupported: readonly Signature[] = [
  ['a GIF', 0, 'GIF8'],
  ['an AVIF', 4, 'ftypavif'],
  ['a HEIC photo', 4, 'ftyphe'],
  ['a HEIC photo', 4, 'ftypmif1'],
  ['a TIFF', 0, 'II*\0'],
  ['a TIFF', 0, 'MM\0*'],
  ['a BMP', 0, 'BM'],
  ['a PDF', 0, '%PDF'],
  ['an SVG', 0, '<svg'],
  ['an SVG or HTML', 0, '<'],
];

/** Detects the media type of an image from its first bytes. `found` describes an unsupported type. */
export function sniffMediaType(bytes: Uint8Array): { mediaType: string } | { found: string } {
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  const matches = ([, offset, text]: Signature) => head.startsWith(text, offset);
  const mediaType = supported.find(matches)?.[0];
  return mediaType ? { mediaType } : { found: unsupported.find(matches)?.[0] ?? 'not a recognized image' };
}
