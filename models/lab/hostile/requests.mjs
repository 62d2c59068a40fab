import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

/** @typedef {import('node:net').AddressInfo} AddressInfo */

/**
 * The port of a TCP server that is listening.
 *
 * @param {import('node:net').Server} server
 */
export const portOf = (server) => /** @type {AddressInfo} */ (server.address()).port;

/**
 * Serves images on loopback.
 *
 * @param {Readonly<Record<string, string | Buffer>>} images the bytes, or the path of a file, by name
 * @returns the bytes and the URL by name
 */
export async function serveImages(images) {
  const bytes = Object.fromEntries(
    Object.entries(images).map(([name, image]) => [name, typeof image === 'string' ? readFileSync(image) : image]),
  );
  const server = createServer(({ url = '' }, response) => {
    const image = bytes[url.slice(1)];
    response.writeHead(image ? 200 : 404, { 'content-length': image?.length ?? 0 }).end(image);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const port = portOf(server);
  return { bytes, urlOf: (/** @type {string} */ name) => `http://127.0.0.1:${port}/${name}` };
}

/**
 * @param {string} name
 * @param {Buffer} bytes
 */
export function dataUri(name, bytes) {
  const type = name.endsWith('.png') ? 'png' : 'jpeg';
  return `data:image/${type};base64,${bytes.toString('base64')}`;
}

/**
 * From the header Retry-After; one second without it.
 *
 * @param {string | null | undefined} value
 */
export const retryAfterMs = (value) => (Number(value) || 1) * 1_000;

/** Requests in progress are limited per client, and the hostile callers have the address 127.0.0.1. */
const ownAddress = { 'x-forwarded-for': '198.51.100.1' };

/**
 * Sends one request on a new connection, as a new client does. Thus it also measures whether the server accepts
 * connections.
 *
 * @param {string} method
 * @param {string} url
 * @param {string} key
 * @param {unknown} [body]
 * @returns the status, the parsed body and the duration in ms
 * @throws the error of the connection
 */
export async function call(method, url, key, body) {
  const startedAt = performance.now();
  const headers = {
    authorization: `Bearer ${key}`,
    ...ownAddress,
    ...(body ? { 'content-type': 'application/json' } : {}),
  };
  const sent = request(url, { method, headers, agent: false });
  sent.end(body && JSON.stringify(body));
  /** @type {[import('node:http').IncomingMessage]} */
  // @ts-expect-error: `once` does not relate its result to the event
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return {
    status: response.statusCode ?? 0,
    retryAfterMs: retryAfterMs(response.headers['retry-after']),
    body: text && JSON.parse(text),
    ms: performance.now() - startedAt,
  };
}
