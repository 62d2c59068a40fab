import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Gen3d, type Gen3dOptions, type Retry } from '../src/index.js';
import { jobId, jpeg, task } from './server.js';

// Real servers, because the behavior of `fetch` with redirects and TLS is what is tested.

const servers: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves HTTP. Resolves with the server's URL, and the API keys that it received. */
async function serve(respond: RequestListener): Promise<{ url: string; keys: unknown[] }> {
  const keys: unknown[] = [];
  const host = await listen(
    createServer((request, response) => {
      keys.push(request.headers.authorization);
      request.resume().once('end', () => respond(request, response));
    }),
  );
  return { url: `http://${host}`, keys };
}

const client = (baseUrl: string, options: Gen3dOptions = {}) =>
  new Gen3d({ apiKey: 'gen3d_key', baseUrl, maxRetries: 0, ...options });
const errorOf = (call: Promise<unknown>) => call.catch((thrown: unknown) => thrown);
const page = (title: string) => `<html><head><title>${title}</title></head></html>`;

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])(
    'with status %i is not followed, and names the base URL to use',
    async (status) => {
      const moved = await serve((_, response) => response.end(JSON.stringify(task())));
      const old = await serve((request, response) =>
        response.writeHead(status, { location: `${moved.url}${request.url}` }).end(page('Moved')),
      );
      const expected = {
        name: 'RedirectError',
        code: 'redirected',
        status,
        message: `${old.url} redirects to ${moved.url}. Use ${moved.url} as the base URL`,
      };
      expect(await errorOf(client(old.url, { maxRetries: 3 }).jobs.create({ image: jpeg }))).toMatchObject(expected);
      expect(await errorOf(client(old.url).jobs.retrieve(jobId))).toMatchObject(expected);
      expect(await errorOf(client(old.url).jobs.list({ limit: 3 }).page())).toMatchObject(expected);
      expect(moved.keys).toEqual([]);
      // A retry would have no other result.
      expect(old.keys).toHaveLength(3);
    },
  );

  test('to a path below another prefix names the base URL with the prefix', async () => {
    const { url } = await serve((request, response) =>
      response.writeHead(308, { location: `/gen3d${request.url}` }).end(),
    );
    expect(await errorOf(client(url).balance.retrieve())).toMatchObject({
      message: `${url} redirects to ${url}/gen3d. Use ${url}/gen3d as the base URL`,
    });
  });

  test.each([
    ['a sign-in page', 'https://sso.example/login?next=%2Fv1%2Fbalance', 'https://sso.example/login'],
    ['another path', '/v1/balance/', '/v1/balance/'],
    ['another protocol', 'myapp://host/v1/balance', 'null/v1/balance'],
  ])('to %s says to use the address of the server itself', async (_, location, target) => {
    const { url } = await serve((_, response) => response.writeHead(302, { location }).end());
    const error = await errorOf(client(url).balance.retrieve());
    const to = target.startsWith('/') ? `${url}${target}` : target;
    expect(error).toMatchObject({ name: 'RedirectError' });
    expect((error as Error).message).toContain(
      `${url}/v1/balance redirects to ${to}. Use the address of the gen3d server itself as the base URL. If`,
    );
  });

  test('to its own address does not name that as the base URL', async () => {
    const { url } = await serve((request, response) => response.writeHead(301, { location: request.url }).end());
    expect(await errorOf(client(url).balance.retrieve())).toMatchObject({
      message: expect.stringContaining(
        'If a proxy or a sign-in page is in front of the server, its API must be reachable',
      ),
    });
  });

  test('without an address says so', async () => {
    const { url } = await serve((_, response) => response.writeHead(302).end());
    expect(await errorOf(client(url).balance.retrieve())).toMatchObject({
      message: expect.stringContaining(
        `${url}/v1/balance redirects to another address. Use the address of the gen3d server`,
      ),
    });
    // As browsers hide it.
    const opaque = Object.defineProperties(Response.error(), { type: { value: 'opaqueredirect' } });
    const hidden = client(url, { fetch: () => Promise.resolve(opaque) });
    expect(await errorOf(hidden.balance.retrieve())).toMatchObject({ name: 'RedirectError' });
  });

  test('of a file is followed, because files need no key', async () => {
    const bucket = await serve((_, response) => response.end('glTF'));
    const server = await serve((_, response) => response.writeHead(302, { location: bucket.url }).end());
    expect(new TextDecoder().decode(await client(server.url).download(`${server.url}/model.glb`))).toBe('glTF');
    expect(bucket.keys).toEqual([undefined]);
  });
});

describe('a connection', () => {
  test('with https to a server without TLS names the http URL', async () => {
    const { url } = await serve((_, response) => response.end());
    const { host } = new URL(url);
    expect(await errorOf(client(`https://${host}`).balance.retrieve())).toMatchObject({
      code: 'connection_failed',
      message: `The server at ${host} speaks http, not https. Use http://${host} as the base URL`,
    });
  });

  test('with http to a server with TLS names the https URL', async () => {
    // The alert with which TLS servers answer plain HTTP.
    const host = await listen(createTcpServer((socket) => socket.end(Buffer.from('15030100020246', 'hex'))));
    expect(await errorOf(client(`http://${host}`).balance.retrieve())).toMatchObject({
      message: `The server at ${host} does not speak http. If it uses TLS, use https://${host} as the base URL`,
    });
  });

  test.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /an authority that this machine does not know\. Set NODE_EXTRA_CA_CERTS to/],
    ['CERT_HAS_EXPIRED', /^https:\/\/gpu-box cannot be trusted: its certificate has expired$/],
  ])('to a server whose certificate is refused with %s says why', async (code, message) => {
    const cause = Object.assign(new Error('unable to verify'), { code });
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    await expect(client('https://gpu-box', { fetch }).balance.retrieve()).rejects.toThrow(message);
  });
});

describe('the page of a proxy', () => {
  test.each([
    [413, 'Gen3dError', /responded with status 413\. A proxy refuses requests of this size\. Raise its limit to 8 MiB/],
    [502, 'ServerError', /responded with status 502\. A proxy does not reach the gen3d server behind it/],
    [503, 'ServerError', /responded with status 503\. A proxy says that the gen3d server behind it is not available/],
    [504, 'ServerError', /responded with status 504\. A proxy waited too long for the gen3d server behind it/],
    [520, 'ServerError', /responded with status 520\. Try again later$/],
  ])('with status %i says whose response it is', async (status, name, message) => {
    const { url } = await serve((_, response) =>
      response.writeHead(status, { 'content-type': 'text/html' }).end(page('nginx')),
    );
    const error = await errorOf(client(url).jobs.create({ image: jpeg }));
    expect(error).toMatchObject({ name, status });
    expect((error as Error).message).toMatch(message);
  });
});

test('a proxy that asks for a password is a failed connection with a reason', async () => {
  const { url } = await serve((_, response) => response.writeHead(407, { 'proxy-authenticate': 'Basic' }).end());
  const error = await errorOf(client(url).balance.retrieve());
  expect((error as Error).message).toMatch(/^Cannot reach http:\S+: \S/);
});

describe('onRetry', () => {
  test('is called before each pause, with the error and the length of the pause', async () => {
    const bodies = [
      [503, { error: { code: 'internal_error', message: 'The server has no space left; try again later' } }],
      [429, {}],
      [200, { balance_usd: 1, min_balance_usd: 1, rates: {} }],
    ] as const;
    let requests = 0;
    const { url } = await serve((_, response) => {
      const [status, body] = bodies[requests++]!;
      response.writeHead(status, { 'retry-after': '0.05' }).end(JSON.stringify(body));
    });
    const retries: Retry[] = [];
    await client(url, { maxRetries: 2, onRetry: (retry) => retries.push(retry) }).balance.retrieve();
    expect(retries).toMatchObject([
      { attempt: 1, pauseMs: 50, error: { message: 'The server has no space left; try again later', status: 503 } },
      { attempt: 2, pauseMs: 50, error: { name: 'RateLimitError' } },
    ]);
  });

  test('is called after a connection that was refused', async () => {
    const retries: Retry[] = [];
    const unreachable = client('http://127.0.0.1:1', { maxRetries: 1, onRetry: (retry) => retries.push(retry) });
    await errorOf(unreachable.balance.retrieve());
    expect(retries).toMatchObject([{ attempt: 1, error: { code: 'connection_failed' } }]);
  });
});
