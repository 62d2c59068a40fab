import { createServer, get, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import helmet from 'helmet';
import { expect, onTestFinished, test } from 'vitest';
import { securityHeaders } from './security-headers.js';

/** Returns the names and values of the headers of a response, as sent. */
async function headersFrom(app: RequestListener): Promise<string[]> {
  const server = createServer(app);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const headers = await new Promise<string[]>((resolve, reject) => {
    get({ port, agent: false }, (response) => resolve(response.resume().rawHeaders)).on('error', reject);
  });
  return headers.filter((text, index) => text !== 'Date' && headers[index - 1] !== 'Date');
}

test('every response has the headers that helmet would set, byte for byte', async () => {
  const options = { contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"] } } };
  const app = (guard: express.RequestHandler) =>
    express()
      .disable('x-powered-by')
      .use(guard, (_request, response) => void response.end());
  const expected = await headersFrom(app(helmet(options)));
  expect(expected).toContain('Content-Security-Policy');
  const server = app(securityHeaders(options));
  expect(await headersFrom(server)).toEqual(expected);
  expect(await headersFrom(server)).toEqual(expected);
});
