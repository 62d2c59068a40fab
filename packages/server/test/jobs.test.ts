import { CreateJobResponse, ListJobsResponse, limits, Task } from '@gen3d/schema';
import { describe, expect, test } from 'vitest';
import { openAdmin } from '../src/admin.js';
import { startServer, type TestServer } from './kit.js';

const photoUrl = 'https://example.com/photo.jpg';
const request = (extra: Record<string, unknown> = {}) => ({
  type: 'image-to-3d',
  input: { image_urls: [photoUrl] },
  ...extra,
});
const dataUri = (bytes: number, type = 'image/png') =>
  `data:${type};base64,${Buffer.alloc(bytes, 1).toString('base64')}`;
const withImages = (...image_urls: unknown[]) => ({ type: 'image-to-3d', input: { image_urls } });

async function create(server: TestServer, body: unknown = request(), key?: string): Promise<string> {
  const answer = await server.call('POST', '/v1/jobs', body, key);
  expect(answer.status).toBe(202);
  return CreateJobResponse.parse(answer.body).job_id;
}

/** Another account of the same server; its key. */
async function anotherAccount(server: TestServer, balanceUsd: number): Promise<string> {
  const admin = await openAdmin(server.config);
  const { account_id } = await admin.createAccount('another', balanceUsd);
  const { api_key } = await admin.createKey(account_id);
  await admin.close();
  return api_key;
}

describe('POST /v1/jobs', () => {
  test('answers 202 with the id of a job that is PENDING at 0', async () => {
    const server = await startServer();
    const id = await create(server);
    const { status, body, headers } = await server.call('GET', `/v1/jobs/${id}`);
    expect(status).toBe(200);
    expect(headers.get('retry-after')).toBe('2');
    expect(Task.parse(body)).toMatchObject({
      task_id: id,
      type: 'image-to-3d',
      status: 'PENDING',
      progress: 0,
      model_urls: null,
      thumbnail_url: null,
      error: null,
      finished_at: null,
    });
  });

  test('takes an inline image of exactly 4 MiB, and names the field of one that is a byte larger', async () => {
    const server = await startServer();
    await create(server, withImages(dataUri(limits.inlineImageBytes)));
    const { status, body } = await server.call('POST', '/v1/jobs', withImages(dataUri(limits.inlineImageBytes + 1)));
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('input.image_urls[0]') },
    });
  });

  test.each([
    ['type', { input: { image_urls: [photoUrl] } }],
    ['type', request({ type: 7 })],
    ['input', { type: 'image-to-3d' }],
    ['input', { type: 'image-to-4d' }],
    ['input.image_urls', { type: 'image-to-3d', input: {} }],
    ['input.image_urls', withImages()],
    ['input.image_urls', withImages(photoUrl, photoUrl)],
    ['input.image_urls[0]', withImages(7)],
    ['input.image_urls[0]', withImages('ftp://example.com/photo.jpg')],
    ['input.image_urls[0]', withImages('file:///etc/passwd')],
    ['input.image_urls[0]', withImages('photo.jpg')],
    ['input.image_urls[0]', withImages(dataUri(10, 'image/gif'))],
    ['input.image_urls[0]', withImages('data:image/png;base64,%%%')],
    ['idempotency_key', request({ idempotency_key: '' })],
    ['idempotency_key', request({ idempotency_key: 'k'.repeat(257) })],
    ['idempotency_key', request({ idempotency_key: 7 })],
    ['body', '[]'],
    ['body', '"text"'],
    ['body', 'null'],
    ['body: malformed JSON', '{"type":'],
  ])('names %s when that is what is wrong', async (field, body) => {
    const server = await startServer();
    const answer = await server.call('POST', '/v1/jobs', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: { code: 'invalid_request', message: expect.any(String) } });
    expect((answer.body as { error: { message: string } }).error.message).toContain(field);
  });

  test('accepts options and unknown fields whatever they hold', async () => {
    const server = await startServer();
    for (const options of [null, 7, 'fast', [], { steps: 9 }])
      await create(server, request({ options, colour: 'red' }));
  });

  test('accepts a type it does not know, with any object as input', async () => {
    const server = await startServer();
    const id = await create(server, { type: 'video-to-3d', input: { video: 1 } });
    expect((await server.call('GET', `/v1/jobs/${id}`)).body).toMatchObject({ type: 'image-to-3d' });
  });

  test('is not brought down by a body that is nested a million deep', async () => {
    const server = await startServer();
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    const { status } = await server.call('POST', '/v1/jobs', `{"type":"x","input":{},"options":${deep}}`);
    expect([202, 400]).toContain(status);
    await create(server);
  });

  test('refuses a body over the limit without reading it, and goes on', async () => {
    const server = await startServer();
    const { status, body } = await server.call('POST', '/v1/jobs', `"${'x'.repeat(8 * 1024 * 1024)}"`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { code: 'invalid_request', message: expect.stringContaining('body') } });
    await create(server);
  });
});

describe('an idempotency key', () => {
  test('sent again, with whatever body, returns the first job', async () => {
    const server = await startServer();
    const id = await create(server, request({ idempotency_key: 'k' }));
    expect(await create(server, request({ idempotency_key: 'k' }))).toBe(id);
    expect(await create(server, { type: 'other', input: {}, idempotency_key: 'k' })).toBe(id);
    expect(await create(server, request({ idempotency_key: 'l' }))).not.toBe(id);
  });

  test('sent twenty times at once makes one job', async () => {
    const server = await startServer();
    const body = { ...withImages(dataUri(1_000)), idempotency_key: 'k'.repeat(256) };
    const ids = await Promise.all(Array.from({ length: 20 }, () => create(server, body)));
    expect(new Set(ids).size).toBe(1);
    expect(ListJobsResponse.parse((await server.call('GET', '/v1/jobs')).body).jobs).toHaveLength(1);
  });

  test('belongs to its account', async () => {
    const server = await startServer();
    const other = await anotherAccount(server, 10);
    const body = request({ idempotency_key: 'k' });
    expect(await create(server, body, other)).not.toBe(await create(server, body));
  });

  test('is looked at before the balance', async () => {
    const server = await startServer();
    const body = request({ idempotency_key: 'k' });
    const id = await create(server, body);
    const admin = await openAdmin(server.config);
    await admin.creditAccount(server.bootstrap!.accountId, -9.5);
    await admin.close();
    expect(await create(server, body)).toBe(id);
    expect((await server.call('POST', '/v1/jobs', request())).status).toBe(402);
  });
});

describe('the balance', () => {
  test('of exactly 1.00 USD is enough, and a millionth less is refused with both figures', async () => {
    const server = await startServer();
    await create(server, request(), await anotherAccount(server, 1));
    const poor = await anotherAccount(server, 0.999999);
    const { status, body } = await server.call('POST', '/v1/jobs', request(), poor);
    expect(status).toBe(402);
    expect(body).toEqual({
      error: { code: 'insufficient_balance', message: expect.any(String) },
      balance_usd: 0.999999,
      min_balance_usd: 1,
    });
  });

  test('is shown with the minimum and the configured rates', async () => {
    const server = await startServer({ rates: { g5: 0.001, g6e: 0.002 } });
    expect((await server.call('GET', '/v1/balance')).body).toEqual({
      balance_usd: 10,
      min_balance_usd: 1,
      rates: { g5: 0.001, g6e: 0.002 },
    });
  });
});

describe('GET /v1/jobs/{id}', () => {
  test('does not tell an unknown job from that of another account', async () => {
    const server = await startServer();
    const id = await create(server);
    const other = await anotherAccount(server, 0);
    const foreign = await server.call('GET', `/v1/jobs/${id}`, undefined, other);
    const unknown = await server.call('GET', '/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV', undefined, other);
    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual(unknown.body);
    expect(foreign.body).toMatchObject({ error: { code: 'not_found' } });
    expect((await server.call('GET', '/v1/jobs/nonsense')).status).toBe(404);
  });
});

describe('GET /v1/jobs', () => {
  test('pages through all jobs, newest first, while new ones arrive', async () => {
    const server = await startServer();
    const ids: string[] = [];
    for (let i = 0; i < 25; i++) ids.push(await create(server));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const query = cursor ? `?limit=10&cursor=${cursor}` : '?limit=10';
      const page = ListJobsResponse.parse((await server.call('GET', `/v1/jobs${query}`)).body);
      seen.push(...page.jobs.map(({ task_id }) => task_id));
      cursor = page.next_cursor;
      await create(server);
    } while (cursor);
    expect(seen).toEqual(ids.reverse());
  });

  test('shows twenty jobs unless asked for more or fewer, and no cursor on the last page', async () => {
    const server = await startServer();
    for (let i = 0; i < 21; i++) await create(server);
    const page = async (query: string) => ListJobsResponse.parse((await server.call('GET', `/v1/jobs${query}`)).body);
    expect((await page('')).jobs).toHaveLength(20);
    expect((await page('')).next_cursor).toBeDefined();
    expect((await page('?limit=1')).jobs).toHaveLength(1);
    expect((await page('?limit=21')).next_cursor).toBeUndefined();
    expect((await page('?limit=100')).jobs).toHaveLength(21);
  });

  test('filters by status, and shows an account its own jobs only', async () => {
    const server = await startServer();
    await create(server);
    const other = await anotherAccount(server, 0);
    const count = async (query: string, key?: string) =>
      ListJobsResponse.parse((await server.call('GET', `/v1/jobs${query}`, undefined, key)).body).jobs.length;
    expect(await count('?status=PENDING')).toBe(1);
    expect(await count('?status=SUCCEEDED')).toBe(0);
    expect(await count('', other)).toBe(0);
  });

  test.each([
    ['status', '?status=DONE'],
    ['status', '?status='],
    ['status', '?status=PENDING&status=FAILED'],
    ['limit', '?limit=0'],
    ['limit', '?limit=101'],
    ['limit', '?limit=1.5'],
    ['limit', '?limit=ten'],
    ['limit', '?limit='],
  ])('refuses a wrong %s: %s', async (name, query) => {
    const server = await startServer();
    const { status, body } = await server.call('GET', `/v1/jobs${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { code: 'invalid_request', message: expect.stringContaining(name) } });
  });

  test('refuses a cursor it did not issue to this account', async () => {
    const server = await startServer();
    await create(server);
    await create(server);
    const page = ListJobsResponse.parse((await server.call('GET', '/v1/jobs?limit=1')).body);
    const other = await anotherAccount(server, 0);
    const foreign = await server.call('GET', `/v1/jobs?cursor=${page.next_cursor}`, undefined, other);
    const made = await Promise.all(
      ['?cursor=', '?cursor=abc', '?cursor=a&cursor=b'].map((query) => server.call('GET', `/v1/jobs${query}`)),
    );
    for (const { status, body } of [foreign, ...made]) {
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { code: 'invalid_cursor' } });
    }
  });
});
