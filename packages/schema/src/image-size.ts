import { sniffFileType } from './file-type.js';

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Reads the size of a PNG, JPEG, WebP or GIF from the fixed fields of its header, without a decoder. A small file may
 * have very many pixels: plain backgrounds compress well. Undefined for other types, and if the header is cut short.
 */
export function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    switch (sniffFileType(bytes)) {
      case 'png':
        return { width: view.getUint32(16), height: view.getUint32(20) };
      case 'gif':
        return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
      case 'webp':
        return webpSize(view);
      case 'jpeg':
        return jpegSize(view);
      default:
        return undefined;
    }
  } catch (error) {
    // Beyond the end of the file.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** @see RFC 9649, sections 2.5 to 2.7 */
function webpSize(view: DataView): ImageSize | undefined {
  const uint24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  switch (String.fromCharCode(...[12, 13, 14, 15].map((at) => view.getUint8(at)))) {
    case 'VP8X':
      return { width: 1 + uint24(24), height: 1 + uint24(27) };
    case 'VP8L': {
      const bits = view.getUint32(21, true);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 'VP8 ':
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    default:
      return undefined;
  }
}

/**
 * Finds the frame header behind the segments before it, such as a thumbnail in EXIF.
 *
 * @see ITU-T T.81, B.1.1.3 and B.2.2
 */
function jpegSize(view: DataView): ImageSize | undefined {
  let at = 2;
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    // A marker may follow any number of fill bytes.
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}
