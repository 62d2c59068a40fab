import { describe, expect, test } from 'vitest';
import { imageJob, startServer, until } from './kit.js';

describe('with a valid key', () => {
  test('every response has a request id, which is the caller’s own if that is safe to log', async () => {
    const { url, apiKey } = await startServer();
    const idOf = async (headers: Record<string, string>) =>
      (await fetch(`${url}/v1/balance`, { headers: { 'x-api-key': apiKey, ...headers } })).headers.get('x-request-id');
    expect(await idOf({})).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf({ 'x-request-id': 'mine-1' })).toBe('mine-1');
    expect(await idOf({ 'x-request-id': 'a b"c' })).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('responses may not be cached, framed or sniffed', async () => {
    const { headers } = await (await startServer()).call('GET', '/v1/balance');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-powered-by')).toBeNull();
  });
});

test('health and metrics need no key', async () => {
  const server = await startServer();
  await server.call('GET', '/v1/balance');
  expect((await server.call('GET', '/healthz', undefined, null)).body).toEqual({ status: 'ok' });
  const { status, body } = await server.call('GET', '/metrics', undefined, null);
  expect(status).toBe(200);
  expect(body).toContain('gen3d_http_request_duration_seconds_count{method="GET",route="/v1/balance",status="200"} 1');
  expect(body).toContain('gen3d_accounts_below_zero 0');
  expect(body).toContain('gen3d_database_up 1');
  await server.call('POST', '/v1/jobs', imageJob('https://example.com/a.jpg'));
  // The text is cached for a second.
  const waiting = await until(async () => {
    const text = String((await server.call('GET', '/metrics', undefined, null)).body);
    return text.includes('gen3d_open_jobs{status="PENDING"} 1') && text;
  });
  expect(waiting).toMatch(/^gen3d_oldest_open_job_seconds\{status="PENDING"\} \d+(\.\d+)?$/m);
});
