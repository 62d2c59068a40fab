// The form of a stored image: a byte that says what follows, so that no upload can pass for pixels, then either the
// image as received, or its pixels with their size. An image library reads neither before it has to.
//
//   0         image as received
//   3 or 4    width (4 bytes), height (4 bytes), rows of RGB or RGBA with 8 bits per channel

/** A decoded image: rows of RGB or RGBA, 8 bits each. */
export interface RawImage {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
  readonly pixels: Uint8Array;
}

const received = 0;
const headerBytes = 9;

export const packReceived = (image: Uint8Array): Uint8Array => Buffer.concat([Buffer.of(received), image]);

export function packPixels({ width, height, channels, pixels }: RawImage): Uint8Array {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt8(channels, 0);
  header.writeUInt32BE(width, 1);
  header.writeUInt32BE(height, 5);
  return Buffer.concat([header, pixels]);
}

/** Returns the pixels of a prepared image, or another image as it was received. @throws {Error} if it is damaged */
export function unpack(stored: Uint8Array): RawImage | Uint8Array {
  const [kind] = stored;
  if (kind === received) return stored.subarray(1);
  if ((kind === 3 || kind === 4) && stored.length > headerBytes) {
    const header = Buffer.from(stored.buffer, stored.byteOffset, headerBytes);
    const [width, height] = [header.readUInt32BE(1), header.readUInt32BE(5)];
    const pixels = stored.subarray(headerBytes);
    if (pixels.length === width * height * kind) return { width, height, channels: kind, pixels };
  }
  throw new Error('A stored image is damaged');
}
