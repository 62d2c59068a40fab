import type { Readable } from 'node:stream';

const mostBytes = 2_048;
/** From the answer's head on. What has not come by then is not worth a place among the deliveries. */
const patienceMs = 1_000;

/**
 * How a body begins, as text: at most 2 KiB, and what arrives within a second. An ellipsis stands for the rest.
 * The stream is destroyed; a body that breaks off is no error.
 */
export async function beginningOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  let complete = false;
  // What breaks after nobody reads any more must not bring the process down.
  body.on('error', () => {});
  const timer = setTimeout(() => body.destroy(), patienceMs);
  try {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > mostBytes) break;
    }
    complete = size <= mostBytes;
  } catch {
    // The receiver's affair: what came is shown.
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
  // As a stream, so that a letter cut in half at the end is left out. PostgreSQL's text holds no NUL.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, mostBytes), { stream: !complete });
  return text.replaceAll('\0', '\uFFFD') + (complete ? '' : '…');
}
