import { createServer } from 'node:https';
import { limits } from '@gen3d/schema';
import type { Agent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makePrivateCa } from '../../../test/faults/private-ca.js';
import { listening, site } from '../../../test/kit.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { type FetchOptions, fetchImage } from './fetch-image.js';

function agent(allowPrivateNetwork: boolean): Agent {
  const dispatcher = guardedAgent({ allowPrivateNetwork, connectTimeoutMs: 30_000 });
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
}

const never = new AbortController().signal;
const get = (url: string, options: Partial<FetchOptions> = {}) =>
  fetchImage(url, { dispatcher: agent(true), signal: never, onLength: () => {}, onBytes: () => {}, ...options });

describe('a remote image', () => {
  test('of 25 MiB is fetched, and one byte more is too large, whether the length is announced or not', async () => {
    const size = limits.remoteImageBytes;
    const url = await site((request, response) => {
      const length = size + Number(request.url === '/exact' ? 0 : 1);
      if (request.url !== '/unannounced') response.setHeader('content-length', length);
      response.end(Buffer.alloc(length));
    });
    expect((await get(`${url}/exact`)).length).toBe(size);
    await expect(get(`${url}/announced`)).rejects.toMatchObject({ code: 'image_too_large' });
    await expect(get(`${url}/unannounced`)).rejects.toMatchObject({ code: 'image_too_large' });
  });

  test('has its length reported if the host announces it', async () => {
    const url = await site((request, response) => {
      if (request.url === '/announced') response.setHeader('content-length', 5);
      response.write('pho');
      response.end('to');
    });
    const lengths: number[] = [];
    const onLength = (bytes: number) => void lengths.push(bytes);
    await get(`${url}/announced`, { onLength });
    await get(`${url}/unannounced`, { onLength });
    expect(lengths).toEqual([5]);
  });

  test('that does not exist fails with the HTTP status', async () => {
    const url = await site((_request, response) => response.writeHead(404).end('<html>'));
    await expect(get(url)).rejects.toMatchObject({
      code: 'image_fetch_failed',
      message: expect.stringContaining('HTTP 404'),
    });
  });

  test.each([401, 403])('that its host refuses with HTTP %i fails with advice', async (status) => {
    const url = await site((_request, response) => response.writeHead(status).end());
    await expect(get(url)).rejects.toThrow(`HTTP ${status}. Its host blocks bots, or the URL has expired.`);
  });

  test('is not fetched from a host with an unknown certificate authority, and the error says what helps', async () => {
    const { cert, key } = await makePrivateCa();
    const port = await listening(createServer({ cert, key }));
    await expect(get(`https://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'image_fetch_failed',
      message: expect.stringMatching(/authority that this machine does not know. Set NODE_EXTRA_CA_CERTS/),
    });
    const plain = await site((_request, response) => response.end('photo'));
    const https = plain.replace('http:', 'https:');
    await expect(get(https)).rejects.toThrow('its host does not use https on this port');
  });

  test('may be behind up to three redirects', async () => {
    const url = await site((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('photo');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect(Buffer.from(await get(`${url}/3`)).toString()).toBe('photo');
    await expect(get(`${url}/4`)).rejects.toThrow('redirects more than 3 times');
  });

  test('that redirects to a host which refuses it names that host', async () => {
    const other = await site((_request, response) => response.writeHead(403).end());
    const url = await site((_request, response) => response.writeHead(302, { location: other }).end());
    await expect(get(url)).rejects.toThrow(`redirects to ${new URL(other).host}, which returned HTTP 403. Its host`);
  });

  test('must not redirect to another scheme', async () => {
    const url = await site((_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    await expect(get(url)).rejects.toMatchObject({ code: 'image_fetch_failed' });
  });

  test('from a host that is unknown, refuses or closes the connection fails with image_fetch_failed', async () => {
    const cut = await site((_request, response) => response.socket?.destroy());
    for (const url of [cut, 'http://127.0.0.1:1/', 'http://no-such-host.invalid/']) {
      await expect(get(url)).rejects.toMatchObject({ code: 'image_fetch_failed' });
    }
  });

  test('is not fetched any further after an abort', async () => {
    const url = await site(() => {});
    const abort = new AbortController();
    const reason = new Error('the lease is lost');
    setTimeout(() => abort.abort(reason), 50);
    await expect(get(url, { signal: abort.signal })).rejects.toBe(reason);
  });
});

describe('the guard', () => {
  const guarded = (url: string) => get(url, { dispatcher: agent(false) });

  test('refuses a private address in any notation, and a name that resolves to one', async () => {
    let requests = 0;
    const url = await site((_request, response) => {
      requests++;
      response.end('photo');
    });
    const { port } = new URL(url);
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '169.254.169.254']) {
      await expect(guarded(`http://${host}:${port}/`)).rejects.toMatchObject({
        code: 'image_fetch_failed',
        message: expect.stringContaining('no public address'),
      });
    }
    expect(requests).toBe(0);
  });
});
