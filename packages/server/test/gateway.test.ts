import { describe, expect, test } from 'vitest';
import { openAdmin } from '../src/admin.js';
import { openDataDir } from '../src/data-dir.js';
import { openDatabase } from '../src/db/open.js';
import { startServer } from './kit.js';

const forbidden = { message: 'Forbidden' };

describe('a request without a valid key', () => {
  test.each([
    ['GET', '/v1/balance'],
    ['GET', '/v1/jobs'],
    ['GET', '/v1/jobs/nonsense'],
    ['POST', '/v1/jobs'],
    ['PATCH', '/v1/jobs'],
    ['GET', '/v1/webhook-endpoint'],
    ['GET', '/'],
    ['GET', '/no/such/route'],
    ['OPTIONS', '/v1/jobs'],
  ])('is 403 with the gateway\u2019s body: %s %s', async (method, path) => {
    const server = await startServer();
    for (const key of [null, 'gen3d_wrong']) {
      const { status, body } = await server.call(method, path, method === 'POST' ? '{"malformed' : undefined, key);
      expect(status).toBe(403);
      expect(body).toEqual(forbidden);
    }
  });

  test('is 403 as soon as the key is revoked, while the server runs', async () => {
    const server = await startServer();
    const admin = await openAdmin(server.config);
    const { key_id, api_key } = await admin.createKey(server.bootstrap!.accountId);
    expect((await server.call('GET', '/v1/balance', undefined, api_key)).status).toBe(200);
    await admin.revokeKey(key_id);
    expect((await server.call('GET', '/v1/balance', undefined, api_key)).status).toBe(403);
    await admin.close();
  });
});

describe('a key', () => {
  test('may come as a bearer token or as x-api-key', async () => {
    const { url, apiKey } = await startServer();
    for (const headers of [
      { authorization: `Bearer ${apiKey}` },
      { authorization: `bearer ${apiKey}` },
      { 'x-api-key': apiKey },
    ]) {
      expect((await fetch(`${url}/v1/balance`, { headers })).status).toBe(200);
    }
    expect((await fetch(`${url}/v1/balance`, { headers: { authorization: apiKey } })).status).toBe(403);
  });

  test('has the fixed prefix and is stored nowhere in clear', async () => {
    const { apiKey, config } = await startServer();
    expect(apiKey).toMatch(/^gen3d_[\w-]{32,}$/);
    const db = openDatabase(openDataDir(config).database);
    const rows = await db.selectFrom('api_keys').selectAll().execute();
    await db.destroy();
    expect(JSON.stringify(rows)).not.toContain(apiKey.slice('gen3d_'.length));
  });
});

describe('with a valid key', () => {
  test('an unknown route is 404 and a wrong method 405, in the standard shape', async () => {
    const server = await startServer();
    const unknown = await server.call('GET', '/v1/nothing');
    expect(unknown.status).toBe(404);
    expect(unknown.body).toMatchObject({ error: { code: 'not_found' } });
    const wrong = await server.call('DELETE', '/v1/jobs');
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, POST');
    expect(wrong.body).toMatchObject({ error: { code: 'invalid_request' } });
  });

  test('every answer has a request id, the caller\u2019s own when it brought a harmless one', async () => {
    const { url, apiKey } = await startServer();
    const idOf = async (headers: Record<string, string>) =>
      (await fetch(`${url}/v1/balance`, { headers: { 'x-api-key': apiKey, ...headers } })).headers.get('x-request-id');
    expect(await idOf({})).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf({ 'x-request-id': 'mine-1' })).toBe('mine-1');
    expect(await idOf({ 'x-request-id': 'a b"c' })).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('answers may be neither cached, framed nor sniffed', async () => {
    const { headers } = await (await startServer()).call('GET', '/v1/balance');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-powered-by')).toBeNull();
  });
});

test('the bucket is shared by the whole API; an empty one answers 429 and says when to come back', async () => {
  const server = await startServer({ rateLimit: '1:5' });
  const answers = await Promise.all(Array.from({ length: 8 }, () => server.call('GET', '/v1/balance')));
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(refused).toHaveLength(3);
  expect(refused[0]?.body).toEqual({ message: 'Too Many Requests' });
  expect(refused[0]?.headers.get('retry-after')).toBe('1');
  // Who has no key takes nothing from those who have.
  expect((await server.call('GET', '/v1/balance', undefined, null)).status).toBe(403);
  expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
});

test('health and metrics need no key', async () => {
  const server = await startServer();
  await server.call('GET', '/v1/balance');
  expect((await server.call('GET', '/healthz', undefined, null)).body).toEqual({ status: 'ok' });
  const { status, body } = await server.call('GET', '/metrics', undefined, null);
  expect(status).toBe(200);
  expect(body).toContain('gen3d_http_request_duration_seconds_count{method="GET",route="/v1/balance",status="200"} 1');
  expect(body).toContain('gen3d_accounts_below_zero 0');
});
