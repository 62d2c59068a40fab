import { isHeic } from './heic.js';

type Signature = readonly [name: string, offset: number, bytes: string];

// Bytes as Latin-1 text, as the specifications write them.
const supported: readonly Signature[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/webp', 8, 'WEBP'],
];

/** Formats that browsers or sharp may be able to decode. */
const convertible: readonly Signature[] = [
  ['a GIF', 0, 'GIF8'],
  ['an AVIF', 4, 'ftypavi'],
  ['an AVIF', 4, 'ftypmif1'],
  ['a TIFF', 0, 'II*\0'],
  ['a TIFF', 0, 'MM\0*'],
];

const unsupported: readonly Signature[] = [
  ['a BMP', 0, 'BM'],
  ['a PDF', 0, '%PDF'],
  ['an SVG', 0, '<svg'],
  ['an SVG or HTML', 0, '<'],
];

/**
 * Detects the media type of an image from its first bytes. For other types, `found` describes what it is, and `convertible`
 * says whether this platform may be able to convert it.
 */
export function sniffMediaType(bytes: Uint8Array): { mediaType: string } | { found: string; convertible: boolean } {
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  const nameIn = (signatures: readonly Signature[]) =>
    signatures.find(([, offset, text]) => head.startsWith(text, offset))?.[0];
  const mediaType = nameIn(supported);
  if (mediaType !== undefined) return { mediaType };
  // Safari decodes HEIC, but other browsers and npm's sharp do not.
  const found = isHeic(bytes) ? 'a HEIC photo' : nameIn(convertible);
  if (found !== undefined) return { found, convertible: true };
  return { found: nameIn(unsupported) ?? 'not a recognized image', convertible: false };
}
