import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

/** An image as a decoder returns it: rows of RGB or RGBA, 8 bits each. */
export interface RawImage {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
  readonly pixels: Uint8Array;
}

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const colorTypes = { 3: 2, 4: 6 } as const;
const compress = promisify(deflate);
// Filters and higher levels would delay every job. With 2048 x 1365 pixels: 6.7 MB and 100 ms, instead of 3.3 MB and
// 160 ms.
const level = 1;

/** Encodes pixels as a PNG. Takes no image library, and compresses on a thread of Node's pool. */
export async function encodePng({ width, height, channels, pixels }: RawImage): Promise<Uint8Array> {
  const rowBytes = width * channels;
  // Each row begins with its filter, 0 for none.
  const rows = Buffer.alloc(height * (1 + rowBytes));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * rowBytes, (y + 1) * rowBytes), y * (1 + rowBytes) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, colorTypes[channels]], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', await compress(rows, { level })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(data.length + 12);
  framed.writeUInt32BE(data.length, 0);
  framed.write(type, 4, 'latin1');
  framed.set(data, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, 8 + data.length)), 8 + data.length);
  return framed;
}
