import { describe, expect, test } from 'vitest';
import { sharedServer } from './contract/kit.js';
import { startServer } from './kit.js';

const { server } = sharedServer();
const page = 'https://app.example';

const preflight = (url: string, path: string, method: string, headers: string) =>
  fetch(url + path, {
    method: 'OPTIONS',
    headers: {
      origin: page,
      'access-control-request-method': method,
      'access-control-request-headers': headers,
    },
  });
const listed = (headers: Headers, name: string) =>
  (headers.get(name) ?? '').split(',').map((item) => item.trim().toLowerCase());

describe('a page of another origin', () => {
  test.each([
    ['POST', '/v1/jobs'],
    ['GET', '/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['PUT', '/v1/webhook-endpoint'],
    ['DELETE', '/v1/webhook-endpoint'],
  ])('may send %s %s: the preflight needs no key', async (method, path) => {
    const { status, headers } = await preflight(server().url, path, method, 'authorization,content-type');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(listed(headers, 'access-control-allow-methods')).toContain(method.toLowerCase());
    expect(listed(headers, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'x-api-key']),
    );
    // Browsers refuse `*` together with credentials, and cookies have no meaning for the API.
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('can read every response with its request id and Retry-After', async () => {
    const { apiKey, url } = server();
    for (const [path, key, status] of [
      ['/v1/balance', apiKey, 200],
      ['/v1/balance', 'wrong', 403],
      ['/v1/jobs/unknown', apiKey, 404],
      ['/v1/jobs?limit=0', apiKey, 400],
    ] as const) {
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}`, origin: page } });
      expect(response.status).toBe(status);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(listed(response.headers, 'access-control-expose-headers')).toEqual(
        expect.arrayContaining(['retry-after', 'x-request-id']),
      );
    }
  });

  test('can read a 429, and preflights do not count toward the rate limit', async () => {
    const { url, apiKey } = await startServer({ rateLimit: '1:1' });
    for (let i = 0; i < 5; i++) expect((await preflight(url, '/v1/jobs', 'GET', 'authorization')).status).toBe(204);
    const send = () => fetch(`${url}/v1/jobs`, { headers: { authorization: `Bearer ${apiKey}`, origin: page } });
    // On a slow machine a few more get through, one per second.
    const responses = await Promise.all(Array.from({ length: 10 }, send));
    expect(responses.map(({ status }) => status)).toContain(200);
    const limited = responses.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    for (const { headers } of limited) expect(headers.get('access-control-allow-origin')).toBe('*');
  });
});

test('an OPTIONS request that is not a preflight needs a key', async () => {
  const { status, body } = await server().call('OPTIONS', '/v1/jobs', undefined, null);
  expect(status).toBe(403);
  expect(body).toEqual({ message: 'Forbidden' });
  expect((await server().call('OPTIONS', '/v1/jobs')).status).toBe(405);
});
