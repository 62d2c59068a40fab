import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createRawServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvHttpProxyAgent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { download } from './download.js';

const file = randomBytes(3_000_000);
const sha256 = createHash('sha256').update(file).digest('hex');
let folder: string;
let servers: Server[];
let dispatcher: EnvHttpProxyAgent;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-download-'));
  servers = [];
  dispatcher = new EnvHttpProxyAgent();
});
afterEach(async () => {
  await dispatcher.destroy();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true });
});

async function serve(handler: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetched(url: string, headers?: Record<string, string>): Promise<Buffer> {
  const path = join(folder, 'file.part');
  await rm(path, { force: true });
  await download({ url: new URL(url), path, size: file.length, sha256, dispatcher, headers, pauseMs: 1 });
  return readFile(path);
}

// As `python3 -m http.server` does. undici 7 ends the process if the connection closes while the body is paused.
test('the server may close the connection after the file', async () => {
  const server = createRawServer((socket) => {
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${file.length}\r\nConnection: close\r\n\r\n`);
      socket.end(file);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (let i = 0; i < 10; i++) expect((await fetched(url)).equals(file)).toBe(true);
  server.close();
});

test('a redirect is followed, and a token is not sent to the other host', async () => {
  const seen: Array<string | undefined> = [];
  const target = await serve(({ headers }, response) => {
    seen.push(headers.authorization);
    response.end(file);
  });
  const url = await serve(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(302, { location: `${target}/file` }).end();
  });
  expect((await fetched(url, { authorization: 'Bearer secret' })).equals(file)).toBe(true);
  expect(seen).toEqual(['Bearer secret', undefined]);
});
