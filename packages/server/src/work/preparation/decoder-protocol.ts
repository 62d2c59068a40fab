import type { Readable } from 'node:stream';

// How a decoder process and its parent talk: over the standard input and output of the process, so the parent can
// refuse a response by its first bytes. An image that takes the decoder over can send anything, but no more than the
// parent is willing to hold, and nothing that the parent would parse, except one short text.
//
//   request    length (4 bytes), image
//   response   kind (1 byte), then
//              pixels: width (4 bytes), height (4 bytes), 3 or 4 bytes per pixel
//              refused: length (4 bytes), 0 (4 bytes), { code, message } as JSON

/** Limits of a decoder process. */
export interface DecodeLimits {
  maxPixels: number;
  /** Maximum memory for one image, as estimated from its header. */
  maxMemoryBytes: number;
  /** Maximum memory of the whole process. */
  maxRssBytes: number;
  /** Maximum CPU time for one image. */
  maxCpuMs: number;
}

/** Exit status of a decoder process that exceeded `maxRssBytes`. */
export const memoryExceededStatus = 90;

/** Exit status of a decoder process that exceeded `maxCpuMs`. */
export const cpuExceededStatus = 91;

/** The first byte of a response. The kinds of pixels are numbered by their bytes per pixel. */
export const responseKinds = { refused: 2, rgb: 3, rgba: 4 } as const;
export const responseHeaderBytes = 9;
/** The maximum length of the text with which an image is refused. */
export const maxRefusalBytes = 4_096;

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The stream ended before a whole message. */
export class EndOfStreamError extends Error {
  override readonly name = 'EndOfStreamError';
}

/** Reads exactly `length` bytes. Holds no more than these and the stream's small buffer. @throws {EndOfStreamError} */
export async function readExactly(stream: Readable, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let missing = length; missing > 0; ) {
    const available = Math.min(missing, stream.readableLength);
    if (available > 0) {
      parts.push(stream.read(available) as Buffer);
      missing -= available;
    } else if (stream.readableEnded || stream.destroyed) throw new EndOfStreamError('the stream has ended');
    else await change(stream);
  }
  return Buffer.concat(parts, length);
}

/** Resolves when the stream has more bytes, or has ended. */
function change(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const events = ['readable', 'end', 'close', 'error'];
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    for (const event of events) stream.on(event, done);
  });
}
