import { WebhookEndpoint } from '@gen3d/schema';
import { readEndpointHealth } from '@gen3d/schema/rules';
import { describe, expect, test } from 'vitest';
import { isoTime } from '../../src/base/time.js';
import { type ApiResponse, databaseOf, startServer } from '../kit.js';
import { type Caller, refused, sharedServer } from './kit.js';

const { server, newCaller } = sharedServer();
const path = '/v1/webhook-endpoint';
const url = 'https://example.com/hook';
const secretText = expect.stringMatching(/^whsec_[\w-]{32,}$/);

async function configured(): Promise<Caller & { secret: string }> {
  const caller = await newCaller();
  return { ...caller, ...WebhookEndpoint.parse((await caller.call('PUT', path, { url })).body) };
}

describe('4.5 PUT /v1/webhook-endpoint', () => {
  test('returns 200 with url and secret the first time', async () => {
    const { status, body } = await (await newCaller()).call('PUT', path, { url });
    expect(status).toBe(200);
    expect(body).toEqual({ url, secret: secretText });
  });

  test('later changes the URL, keeps the secret and does not return it', async () => {
    const { call, secret } = await configured();
    const other = 'https://example.org/hook';
    const { status, body } = await call('PUT', path, { url: other });
    expect(status).toBe(200);
    expect(body).toEqual({ url: other });
    expect((await call('GET', path)).body).toEqual({ url: other, secret });
  });

  test('with the same URL changes nothing', async () => {
    const { call, secret } = await configured();
    expect((await call('PUT', path, { url })).body).toEqual({ url });
    expect((await call('GET', path)).body).toEqual({ url, secret });
  });

  test('keeps the choice of events until another one is made', async () => {
    const { call } = await newCaller();
    const put = async (body: object) => (await call('PUT', path, body)).body;
    expect(await put({ url, events: 'final' })).toEqual({ url, secret: secretText, events: 'final' });
    expect(await put({ url })).toEqual({ url, events: 'final' });
    expect((await call('GET', path)).body).toEqual({ url, secret: secretText, events: 'final' });
    expect(refused(await call('PUT', path, { url, events: 'some' }), 400, 'invalid_request')).toContain('events');
    expect(await put({ url, events: 'all' })).toEqual({ url });
    expect(await put({ url, events: 'final' })).toEqual({ url, events: 'final' });
  });

  test('after a DELETE returns a new secret', async () => {
    const { call, secret } = await configured();
    await call('DELETE', path);
    const { body } = await call('PUT', path, { url });
    expect(body).toEqual({ url, secret: secretText });
    expect(body).not.toEqual({ url, secret });
  });

  test.each([
    [{}],
    [{ url: 7 }],
    [{ url: null }],
    [{ url: 'http://example.com' }],
    [{ url: 'example.com' }],
    [{ url: '' }],
    [{ url: 'https://example.com/\ud800' }],
    [{ url: 'https://example.com/\u0000' }],
  ])(
    'a url that is missing, invalid or not https is 400 invalid_request, and the message names it: %j',
    async (body) => {
      const { call } = await newCaller();
      expect(refused(await call('PUT', path, body), 400, 'invalid_request')).toContain('url');
      refused(await call('GET', path), 404, 'not_configured');
    },
  );

  test('malformed JSON is 400 invalid_request and does not change the endpoint', async () => {
    const { call, secret } = await configured();
    for (const body of ['{"url"', '', '[]', 'null']) refused(await call('PUT', path, body), 400, 'invalid_request');
    expect((await call('GET', path)).body).toEqual({ url, secret });
  });

  test('a private address is refused, unless the server allows it', async () => {
    const { call } = await newCaller();
    const body = { url: 'https://169.254.169.254/hook' };
    expect(refused(await call('PUT', path, body), 400, 'invalid_request')).toContain('url');
    expect((await (await startServer({ allowPrivateNetwork: true })).call('PUT', path, body)).status).toBe(200);
  });
});

describe('4.6 GET /v1/webhook-endpoint', () => {
  test('returns 200 with url and the current secret', async () => {
    const { call, secret } = await configured();
    const { status, body } = await call('GET', path);
    expect(status).toBe(200);
    expect(body).toEqual({ url, secret });
  });

  test('has headers that say since when it fails and until when it is paused, and the same body', async () => {
    const { call, secret } = await configured();
    const times = { failing_since: Date.now() - 1_000, paused_until: Date.now() + 1_000_000 };
    const db = databaseOf(server());
    const healthOf = ({ headers }: ApiResponse) => readEndpointHealth(headers);
    expect(healthOf(await call('GET', path))).toEqual({});
    await db.updateTable('webhook_endpoints').set(times).where('url', '=', url).execute();
    const response = await call('GET', path);
    expect(response.body).toEqual({ url, secret });
    const [failing_since, paused_until] = [times.failing_since, times.paused_until].map(isoTime);
    expect(healthOf(response)).toEqual({ failing_since, paused_until });
    await call('POST', `${path}/test`);
    expect(healthOf(await call('GET', path))).toEqual({ failing_since });
    await call('PUT', path, { url });
    expect(healthOf(await call('GET', path))).toEqual({});
  });

  test('without an endpoint is 404 not_configured', async () => {
    refused(await (await newCaller()).call('GET', path), 404, 'not_configured');
  });

  test('does not return the endpoint of another account', async () => {
    await configured();
    refused(await (await newCaller()).call('GET', path), 404, 'not_configured');
  });
});

describe('4.7 DELETE /v1/webhook-endpoint', () => {
  test('returns 204 with an empty body and removes the endpoint', async () => {
    const { call } = await configured();
    const { status, body } = await call('DELETE', path);
    expect(status).toBe(204);
    expect(body).toBe('');
    refused(await call('GET', path), 404, 'not_configured');
  });

  test('without an endpoint is also 204', async () => {
    expect((await (await newCaller()).call('DELETE', path)).status).toBe(204);
  });
});

describe('4.8 POST /v1/webhook-endpoint/rotate', () => {
  test('returns 200 with a new secret, which GET then returns as well', async () => {
    const { call, secret } = await configured();
    const { status, body } = await call('POST', `${path}/rotate`);
    expect(status).toBe(200);
    expect(body).toEqual({ secret: secretText });
    expect(body).not.toEqual({ secret });
    expect((await call('GET', path)).body).toEqual({ url, ...(body as object) });
  });

  test('without an endpoint is 404 not_configured', async () => {
    refused(await (await newCaller()).call('POST', `${path}/rotate`), 404, 'not_configured');
  });
});

describe('4.9 POST /v1/webhook-endpoint/test', () => {
  test('returns 202 with queued: true', async () => {
    const { status, body } = await (await configured()).call('POST', `${path}/test`);
    expect(status).toBe(202);
    expect(body).toEqual({ queued: true });
  });

  test('without an endpoint is 409 not_configured', async () => {
    refused(await (await newCaller()).call('POST', `${path}/test`), 409, 'not_configured');
  });
});
