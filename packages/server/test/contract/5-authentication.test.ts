import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { callServer } from '../kit.js';
import { sharedServer } from './kit.js';

const { server, admin, newCaller } = sharedServer();
const forbidden = { message: 'Forbidden' };

const everyRoute = [
  ['POST', '/v1/jobs'],
  ['GET', '/v1/jobs'],
  ['GET', '/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ['GET', '/v1/balance'],
  ['PUT', '/v1/webhook-endpoint'],
  ['GET', '/v1/webhook-endpoint'],
  ['DELETE', '/v1/webhook-endpoint'],
  ['POST', '/v1/webhook-endpoint/rotate'],
  ['POST', '/v1/webhook-endpoint/test'],
] as const;

describe('5 authentication', () => {
  test.each(everyRoute)('%s %s without a key is 403 {"message":"Forbidden"}', async (method, path) => {
    const { status, body } = await server().call(method, path, undefined, null);
    expect(status).toBe(403);
    expect(body).toEqual(forbidden);
  });

  test('the body of a 403 is exactly the gateway’s', async () => {
    const response = await fetch(`${server().url}/v1/balance`);
    expect(await response.text()).toBe('{"message":"Forbidden"}');
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  });

  test('without a valid key, unknown routes and methods and invalid requests are 403, too', async () => {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/v1/nothing'],
      ['PATCH', '/v1/jobs'],
      ['OPTIONS', '/v1/jobs'],
      ['GET', '/v1/jobs?limit=0'],
    ] as const) {
      expect(await server().call(method, path, undefined, null)).toMatchObject({ status: 403, body: forbidden });
    }
    expect(await server().call('POST', '/v1/jobs', '{"malformed', null)).toMatchObject({ status: 403 });
  });

  test('an invalid key is 403, even if it is similar to a valid one', async () => {
    const { apiKey } = await newCaller();
    for (const key of ['gen3d_wrong', apiKey.slice(0, -1), `${apiKey}x`, apiKey.toUpperCase(), 'undefined']) {
      expect(await server().call('GET', '/v1/balance', undefined, key)).toMatchObject({ status: 403, body: forbidden });
    }
  });

  test('a revoked key is 403 immediately, and the account’s other keys still work', async () => {
    const { accountId, call } = await newCaller();
    const { key_id, api_key } = await admin().createKey(accountId);
    expect((await server().call('GET', '/v1/balance', undefined, api_key)).status).toBe(200);
    await admin().revokeKey(key_id);
    expect(await server().call('GET', '/v1/balance', undefined, api_key)).toMatchObject({
      status: 403,
      body: forbidden,
    });
    expect((await call('GET', '/v1/balance')).status).toBe(200);
  });

  test('a key can be sent as Authorization: Bearer or as x-api-key', async () => {
    const { apiKey } = await newCaller();
    const statusWith = async (headers: Record<string, string>) =>
      (await fetch(`${server().url}/v1/balance`, { headers })).status;
    for (const headers of [
      { authorization: `Bearer ${apiKey}` },
      { authorization: `bearer ${apiKey}` },
      { 'x-api-key': apiKey },
      { 'X-API-Key': apiKey },
    ]) {
      expect(await statusWith(headers)).toBe(200);
    }
    for (const authorization of [apiKey, `Basic ${apiKey}`, `Bearer: ${apiKey}`]) {
      expect(await statusWith({ authorization })).toBe(403);
    }
  });

  test('two x-api-key headers are 403', async () => {
    const { apiKey } = await newCaller();
    const status = await new Promise((resolve, reject) => {
      const headers = { 'x-api-key': [apiKey, apiKey] };
      request(`${server().url}/v1/balance`, { headers }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });

  test('a key consists of a fixed prefix and 40 random characters', async () => {
    expect((await newCaller()).apiKey).toMatch(/^gen3d_[\w-]{40}$/);
  });

  test('webhook routes use the same key', async () => {
    const { apiKey } = await newCaller();
    const { status } = await callServer(server().url, 'DELETE', '/v1/webhook-endpoint', undefined, apiKey);
    expect(status).toBe(204);
  });
});
