import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { photoJob, refused, sharedServer } from './kit.js';

const { server, newCaller } = sharedServer();

describe('1 conventions', () => {
  test('responses with a body are JSON, as their content type says', async () => {
    const { call, create } = await newCaller();
    const id = await create();
    for (const path of ['/v1/jobs', `/v1/jobs/${id}`, '/v1/balance', '/v1/jobs/unknown', '/v1/unknown']) {
      expect((await call('GET', path)).headers.get('content-type')).toMatch(/^application\/json(;|$)/);
    }
  });

  test('every id is a ULID, and newer ids sort after older ones', async () => {
    const { create } = await newCaller();
    const ids: string[] = [];
    for (let i = 0; i < 50; i++) ids.push(await create());
    for (const id of ids) expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
    expect(new Set(ids).size).toBe(50);
    expect([...ids].sort()).toEqual(ids);
  });

  test('every timestamp is ISO 8601 in UTC', async () => {
    const { create, task } = await newCaller();
    const before = Date.now();
    const { created_at } = await task(await create());
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(created_at)).toBeLessThanOrEqual(Date.now());
  });

  test('no public operation cancels, changes or deletes a job', async () => {
    const { call, create, task } = await newCaller();
    const id = await create();
    for (const [method, path] of [
      ['DELETE', `/v1/jobs/${id}`],
      ['PATCH', `/v1/jobs/${id}`],
      ['PUT', `/v1/jobs/${id}`],
      ['POST', `/v1/jobs/${id}`],
    ] as const) {
      expect((await call(method, path, photoJob())).status).toBe(405);
    }
    refused(await call('POST', `/v1/jobs/${id}/cancel`), 404, 'not_found');
    expect((await task(id)).status).toBe('PENDING');
  });

  test('there is no long polling: reading an unfinished job returns immediately', async () => {
    const { create, task } = await newCaller();
    const id = await create();
    const start = performance.now();
    for (let read = 0; read < 50; read++) expect((await task(id)).status).toBe('PENDING');
    // A server that holds each read for half a second would take longer.
    expect(performance.now() - start).toBeLessThan(25_000);
  });

  test('/openapi.json is docs/openapi.json, needs no key, and allows every origin', async () => {
    const { status, headers, body } = await server().call('GET', '/openapi.json', undefined, null);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(body).toEqual(JSON.parse(readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8')));
  });
});
