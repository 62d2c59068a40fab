import { ServerError } from './errors.js';

/** Returns the body if it has the expected type. @throws {ServerError} invalid_response */
export function expectBody<T>(body: unknown, isExpected: (value: unknown) => value is T, name: string): T {
  if (isExpected(body)) return body;
  throw new ServerError(
    'invalid_response',
    `The response does not contain a valid ${name}. Check that it comes from a gen3d server`,
  );
}

/** Iterates over the chunks of a stream. Not all browsers can iterate over a stream directly. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel();
  }
}
