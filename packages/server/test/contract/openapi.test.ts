import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sharedServer } from './kit.js';

const { server } = sharedServer();

test('/openapi.json is docs/openapi.json, needs no key, and allows every origin', async () => {
  const { status, headers, body } = await server().call('GET', '/openapi.json', undefined, null);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(body).toEqual(JSON.parse(readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8')));
});
