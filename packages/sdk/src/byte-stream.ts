import { bytesIn } from './realms.js';

/** Iterates over the chunks of a stream. Not all browsers can iterate over a stream directly. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel();
  }
}

/** Reads all chunks. @param tooLarge creates the error for more than `maxBytes`, of which no more are read */
export async function readAll(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: (bytes: number) => Error,
): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const bytes = bytesIn(chunk);
    if (!bytes) throw new TypeError('The stream has other values than bytes');
    size += bytes.length;
    if (size > maxBytes) throw tooLarge(size);
    parts.push(bytes);
  }
  return new Blob(parts);
}
