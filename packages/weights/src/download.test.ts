import { createHash, randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { EnvHttpProxyAgent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { site } from '../../server/test/site.js';
import { download } from './download.js';

const file = randomBytes(3_000_000);
const sha256 = createHash('sha256').update(file).digest('hex');
let folder: string;
let dispatcher: EnvHttpProxyAgent;

beforeEach(() => {
  folder = temporaryFolder();
  dispatcher = new EnvHttpProxyAgent();
});
afterEach(async () => {
  await dispatcher.destroy();
});

async function fetched(url: string, headers?: Record<string, string>): Promise<Buffer> {
  const path = join(folder, 'file.part');
  await rm(path, { force: true });
  await download({ url: new URL(url), path, size: file.length, sha256, dispatcher, headers, pauseMs: 1 });
  return readFile(path);
}

// As `python3 -m http.server` does. undici 7 ends the process if the connection closes while the body is paused.
test('the server may close the connection after the file', async () => {
  const server = createServer((socket) => {
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
  const target = await site(({ headers }, response) => {
    seen.push(headers.authorization);
    response.end(file);
  });
  const url = await site(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(302, { location: `${target}/file` }).end();
  });
  expect((await fetched(url, { authorization: 'Bearer secret' })).equals(file)).toBe(true);
  expect(seen).toEqual(['Bearer secret', undefined]);
});
