import { sniffFileType } from '@gen3d/schema/rules';

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Reads the size of an image from the fixed fields of its header, without a decoder. Undefined for an AVIF, whose size
 * depends on a tree of boxes, and for a file without the field.
 */
export function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    switch (sniffFileType(bytes)) {
      case 'png':
        return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
      case 'gif':
        return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
      case 'webp':
        return webpSize(file);
      case 'jpeg':
        return jpegSize(file);
      default:
        return undefined;
    }
  } catch (error) {
    // The file is cut short.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function webpSize(file: Buffer): ImageSize | undefined {
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: 1 + file.readUIntLE(24, 3), height: 1 + file.readUIntLE(27, 3) };
    case 'VP8L': {
      const bits = file.readUInt32LE(21);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 'VP8 ':
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}

/** Finds the start of the frame behind the segments before it, such as a thumbnail in EXIF. */
function jpegSize(file: Buffer): ImageSize | undefined {
  for (let at = 2; at < file.length; ) {
    if (file[at] !== 0xff) return undefined;
    const marker = file.readUInt8(at + 1);
    // Any number of 0xff may precede a marker.
    if (marker === 0xff) at++;
    else {
      const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
      if (isFrame) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
      at += 2 + file.readUInt16BE(at + 2);
    }
  }
  return undefined;
}

/** True if a photo of size `header` can have become one of size `decoded`: turned by EXIF, and scaled to fit `maxSide`. */
export function isPossibleSize(decoded: ImageSize, header: ImageSize, maxSide: number): boolean {
  const scale = Math.min(1, maxSide / Math.max(header.width, header.height));
  const isNear = (a: number, b: number) => Math.abs(a - Math.max(1, b * scale)) <= 1;
  return (
    (isNear(decoded.width, header.width) && isNear(decoded.height, header.height)) ||
    (isNear(decoded.width, header.height) && isNear(decoded.height, header.width))
  );
}
