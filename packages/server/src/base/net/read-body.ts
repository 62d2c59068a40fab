import type { Dispatcher } from 'undici';

export interface ReadOptions {
  /** The value of Content-Length; NaN without that header. */
  announced: number;
  maxBytes: number;
  tooLarge: () => Error;
  /** Called with the length of the body if the host announces it. */
  onLength?: (bytes: number) => void;
  /** Called with the length of each part of the body. */
  onBytes?: (bytes: number) => void;
}

/**
 * Reads a body of limited size, counting the bytes as they arrive. Never pauses: undici 7 ends the process if a
 * connection closes while its body is paused. https://github.com/nodejs/undici/issues/5360
 */
export async function readBody(
  body: Dispatcher.ResponseData['body'],
  { announced, maxBytes, tooLarge, onLength, onBytes }: ReadOptions,
): Promise<Buffer> {
  if (announced > maxBytes) {
    body.destroy();
    throw tooLarge();
  }
  if (announced >= 0) onLength?.(announced);
  const chunks: Uint8Array[] = [];
  let size = 0;
  // An exception in the loop destroys the stream.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    onBytes?.(chunk.length);
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
