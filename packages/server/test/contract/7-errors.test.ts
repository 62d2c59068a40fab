import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { startServer } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { photoJob, refused, sharedServer } from './kit.js';

const { newCaller } = sharedServer();

describe('7 errors', () => {
  test('the body is { error: { code, message } } with a meaningful message', async () => {
    const { call } = await newCaller(0);
    for (const response of [
      await call('POST', '/v1/jobs', {}),
      await call('GET', '/v1/jobs?cursor=x'),
      await call('GET', '/v1/jobs/unknown'),
      await call('GET', '/v1/webhook-endpoint'),
    ]) {
      const { error } = response.body as { error: { code: string; message: string } };
      expect(refused(response, response.status, error.code).length).toBeGreaterThan(5);
    }
  });

  test('a message repeats at most 200 characters of the request', async () => {
    const { call } = await newCaller();
    const long = 'x'.repeat(6_000);
    for (const response of [
      await call('POST', '/v1/jobs', photoJob({ input: { image_urls: [`${long}:y`] } })),
      await call('POST', '/v1/jobs', photoJob({ input: { image_urls: [`data:${long}`] } })),
      await call('POST', '/v1/jobs', photoJob({ idempotency_key: long })),
      await call('POST', '/v1/jobs', `{"type":${long}}`),
      await call('POST', '/v1/jobs', `{"type":"${long}`),
      await call('GET', `/v1/jobs?status=${long}`),
      await call('GET', `/v1/jobs?limit=${long}`),
      await call('GET', `/v1/jobs?cursor=${long}`),
      await call('GET', `/v1/jobs/${long}`),
      await call('GET', `/v1/${long}`),
      await call('PUT', '/v1/webhook-endpoint', { url: `https://${long}` }),
    ]) {
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(response.body).match(/x*/g)?.sort().at(-1)?.length).toBeLessThanOrEqual(200);
    }
  });

  test('an unknown route is 404 and an unsupported method is 405 with Allow', async () => {
    const { call } = await newCaller();
    for (const path of ['/', '/v1', '/v1/nothing', '/v2/jobs', '/v1/jobs/a/b', '/v1/webhook-endpoint/other']) {
      refused(await call('GET', path), 404, 'not_found');
    }
    for (const [method, path, allow] of [
      ['DELETE', '/v1/jobs', 'GET, POST'],
      ['POST', '/v1/balance', 'GET'],
      ['PATCH', '/v1/webhook-endpoint', 'GET, PUT, DELETE'],
      ['GET', '/v1/webhook-endpoint/rotate', 'POST'],
      ['GET', '/v1/webhook-endpoint/test', 'POST'],
    ] as const) {
      const response = await call(method, path);
      refused(response, 405, 'invalid_request');
      expect(response.headers.get('allow')).toBe(allow);
    }
  });

  test('an internal failure is 500 internal_error without details, and requests succeed again afterwards', async () => {
    const server = await startServer();
    const db = openDatabase(dataDirOf(server.config).database);
    await sql`alter table jobs rename to lost`.execute(db);
    for (const [method, path, body] of [
      ['GET', '/v1/jobs', undefined],
      ['GET', '/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV', undefined],
      ['POST', '/v1/jobs', photoJob()],
    ] as const) {
      expect(refused(await server.call(method, path, body), 500, 'internal_error')).not.toMatch(/sql|table|jobs/i);
    }
    expect((await server.call('GET', '/v1/balance')).status).toBe(200);
    await sql`alter table lost rename to jobs`.execute(db);
    await db.destroy();
    expect((await server.call('POST', '/v1/jobs', photoJob())).status).toBe(202);
  });
});
