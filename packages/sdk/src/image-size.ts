/**
 * Reads from its header how many pixels a PNG, JPEG or WebP has. A small file may have very many: plain backgrounds
 * compress well.
 *
 * @returns undefined if the header is damaged
 */
export function pixelCount(image: Uint8Array): number | undefined {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  const tag = (at: number) => String.fromCharCode(...image.subarray(at, at + 4));
  try {
    if (tag(1).startsWith('PNG')) return view.getUint32(16) * view.getUint32(20);
    return tag(8) === 'WEBP' ? webpPixels(view, tag(12)) : jpegPixels(view);
  } catch {
    // Beyond the end of the file.
    return undefined;
  }
}

/** Finds the frame header among the segments. @see ITU-T T.81, B.1.1.3 and B.2.2 */
function jpegPixels(view: DataView): number | undefined {
  let at = 2;
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return view.getUint16(at + 5) * view.getUint16(at + 7);
    // A marker may follow any number of fill bytes.
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}

/** @see RFC 9649, sections 2.5 to 2.7 */
function webpPixels(view: DataView, format: string): number | undefined {
  const uint24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  if (format === 'VP8X') return (1 + uint24(24)) * (1 + uint24(27));
  if (format === 'VP8 ') return (view.getUint16(26, true) & 0x3fff) * (view.getUint16(28, true) & 0x3fff);
  const bits = view.getUint32(21, true);
  return format === 'VP8L' ? (1 + (bits & 0x3fff)) * (1 + ((bits >> 14) & 0x3fff)) : undefined;
}
