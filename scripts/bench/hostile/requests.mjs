import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

/**
 * Serves images on loopback. `images` is bytes, or the path of a file, by file name.
 *
 * @returns `bytes` and `urlOf` by file name
 */
export async function servePhotos(images) {
  const bytes = Object.fromEntries(
    Object.entries(images).map(([name, image]) => [name, typeof image === 'string' ? readFileSync(image) : image]),
  );
  const server = createServer(({ url }, response) => {
    const image = bytes[url.slice(1)];
    response.writeHead(image ? 200 : 404, { 'content-length': image?.length ?? 0 }).end(image);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const { port } = server.address();
  return { bytes, urlOf: (name) => `http://127.0.0.1:${port}/${name}` };
}

export function dataUri(name, bytes) {
  const type = name.endsWith('.png') ? 'png' : 'jpeg';
  return `data:image/${type};base64,${bytes.toString('base64')}`;
}

/** Of the header's value; a second without one. */
export const retryAfterMs = (value) => (Number(value) || 1) * 1_000;

/**
 * One call on a new connection, as a caller that has just arrived makes it. This also measures whether the server
 * accepts new connections.
 *
 * @returns the status, the parsed body and how long it took
 * @throws what the connection failed with
 */
export async function call(method, url, key, body) {
  const startedAt = performance.now();
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) };
  const sent = request(url, { method, headers, agent: false });
  sent.end(body && JSON.stringify(body));
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return {
    status: response.statusCode,
    retryAfterMs: retryAfterMs(response.headers['retry-after']),
    body: text && JSON.parse(text),
    ms: performance.now() - startedAt,
  };
}
