import { gzipSync } from 'node:zlib';
import { limits } from '@gen3d/schema';
import { describe, expect, test } from 'vitest';
import { asDataUri } from '../ball-photo.js';
import { photoJob, photoUrl, refused, sharedServer, withImages, withViews } from './kit.js';

const { admin, newCaller, server } = sharedServer();
const inline = (bytes: number, type = 'image/png') => asDataUri(Buffer.alloc(bytes, 1), type);

describe('4.1 POST /v1/jobs', () => {
  test('returns 202 with only the job id', async () => {
    const { call } = await newCaller();
    const { status, body } = await call('POST', '/v1/jobs', photoJob());
    expect(status).toBe(202);
    expect(body).toEqual({ job_id: expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/) });
  });

  test.each([
    ['type: must be "image-to-3d"', { input: { image_urls: [photoUrl] } }],
    ['type: must be "image-to-3d"', photoJob({ type: 7 })],
    ['type: must be "image-to-3d"', photoJob({ type: null })],
    ['input: is missing', { type: 'image-to-3d' }],
    ['input: must be an object', photoJob({ input: 'photo' })],
    ['input: is missing', { type: 'image-to-4d' }],
    ['input: must be an object', { type: 'image-to-4d', input: [] }],
    ['input.image_urls: is missing', { type: 'image-to-3d', input: {} }],
    ['input.image_urls: must be a list', photoJob({ input: { image_urls: photoUrl } })],
    ['input.image_urls[0]: must be a string', withImages(7)],
    ['input.image_urls[0]: must be a string', withImages(null)],
    ['input.image_urls[0]: must be an http(s) URL', withImages('photo.jpg')],
    ['input.image_urls[0]: must be an http(s) URL', withImages('')],
    ['idempotency_key: must be a string', photoJob({ idempotency_key: 7 })],
    ['idempotency_key: must be a string', photoJob({ idempotency_key: null })],
    ['body: must be an object', '[]'],
    ['body: must be an object', '"text"'],
    ['body: must be an object', 'null'],
    ['type: must be "image-to-3d"', ''],
  ])('an invalid request is 400 invalid_request, and the message says %s: %j', async (problem, body) => {
    const { call, list } = await newCaller();
    expect(refused(await call('POST', '/v1/jobs', body), 400, 'invalid_request')).toContain(problem);
    expect((await list()).jobs).toEqual([]);
  });

  test('malformed JSON is 400 invalid_request, and the message says so', async () => {
    const { call } = await newCaller();
    for (const body of ['{"type":', '{', 'type=image-to-3d', '{"type":"image-to-3d",}']) {
      expect(refused(await call('POST', '/v1/jobs', body), 400, 'invalid_request')).toContain('malformed JSON');
    }
  });

  test('image_urls must have exactly one entry', async () => {
    const { call, create } = await newCaller();
    for (const body of [withImages(), withImages(photoUrl, photoUrl)]) {
      expect(refused(await call('POST', '/v1/jobs', body), 400, 'invalid_request')).toContain('input.image_urls');
    }
    await create(withImages(photoUrl));
  });

  test('an image can be an http or https URL, or a PNG, JPEG or WebP data URI', async () => {
    const { create } = await newCaller();
    for (const url of [photoUrl, 'http://example.com/a?b=c#d', 'HTTPS://EXAMPLE.COM/']) await create(withImages(url));
    for (const type of ['image/png', 'image/jpeg', 'image/webp']) await create(withImages(inline(10, type)));
  });

  test('other URL schemes and other data URIs are refused', async () => {
    const { call } = await newCaller();
    for (const url of [
      'ftp://example.com/photo.jpg',
      'file:///etc/passwd',
      'blob:https://example.com/1',
      'javascript:alert(1)',
      's3://bucket/photo.jpg',
      inline(10, 'image/gif'),
      inline(10, 'image/svg+xml'),
      inline(10).replace(';base64', ''),
      'data:image/png;base64,',
      'data:image/png;base64,%%%',
      'data:image/png;base64,AAA',
    ]) {
      const response = await call('POST', '/v1/jobs', withImages(url));
      expect(refused(response, 400, 'invalid_request')).toContain('input.image_urls[0]');
    }
  });

  test('an inline image of exactly 4 MiB decoded is accepted, and one byte more is refused', async () => {
    const { call, create } = await newCaller();
    const limit = 4 * 1024 * 1024;
    for (const bytes of [limit - 2, limit - 1, limit]) await create(withImages(inline(bytes)));
    const response = await call('POST', '/v1/jobs', withImages(inline(limit + 1)));
    expect(refused(response, 400, 'invalid_request')).toContain('input.image_urls[0]');
  });

  test('a body of more than 8 MiB is 400 invalid_request, and the server keeps running', async () => {
    const { call, create } = await newCaller();
    const response = await call('POST', '/v1/jobs', `"${'x'.repeat(8 * 1024 * 1024)}"`);
    expect(refused(response, 400, 'invalid_request')).toContain('body');
    await create();
  });

  test('a body with too many or too deeply nested values is 400 invalid_request, without parsing it', async () => {
    const { call, create } = await newCaller();
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    for (const value of [deep, `[${'{},'.repeat(2_000_000)}1]`]) {
      const response = await call('POST', '/v1/jobs', `{"type":"x","input":{},"options":${value}}`);
      expect(refused(response, 400, 'invalid_request')).toMatch(/^body: (nested|more than)/);
    }
    await create();
  });

  test('a body that is not UTF-8 is 400 invalid_request', async () => {
    const { apiKey, create } = await newCaller();
    const post = async (contentType: string, body: Buffer<ArrayBuffer>) => {
      const headers = { 'x-api-key': apiKey, 'content-type': contentType };
      return fetch(`${server().url}/v1/jobs`, { method: 'POST', headers, body });
    };
    const text = JSON.stringify(photoJob({ idempotency_key: '\u00e9' }));
    for (const [contentType, body] of [
      ['application/json', Buffer.from(text, 'latin1')],
      ['application/json; charset=utf-16', Buffer.from(text, 'utf16le')],
    ] as const) {
      const response = await post(contentType, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: 'invalid_request', message: expect.stringContaining('UTF-8') },
      });
    }
    await create(text);
  });

  test('a compressed body is 400 invalid_request', async () => {
    const { apiKey, create } = await newCaller();
    const response = await fetch(`${server().url}/v1/jobs`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(photoJob())),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('Content-Encoding') },
    });
    await create();
  });

  test('a URL of more than 4,096 bytes is 400 invalid_request', async () => {
    const { call, create } = await newCaller();
    await create(withImages(photoUrl.padEnd(4_096, 'a')));
    const response = await call('POST', '/v1/jobs', withImages(photoUrl.padEnd(4_097, 'a')));
    expect(refused(response, 400, 'invalid_request')).toContain('input.image_urls[0]');
  });

  test('an unpaired surrogate or U+0000 is 400 invalid_request, and the message names its field', async () => {
    const { call, list } = await newCaller();
    for (const [field, body] of [
      ['type', { type: 'other\ud800', input: {} }],
      ['input.image_urls[0]', withImages(`${photoUrl}?\udc00`)],
      ['idempotency_key', photoJob({ idempotency_key: '\ud83d' })],
      ['idempotency_key', photoJob({ idempotency_key: 'a\u0000b' })],
    ] as const) {
      expect(refused(await call('POST', '/v1/jobs', body), 400, 'invalid_request')).toContain(`${field}: `);
    }
    expect((await list()).jobs).toEqual([]);
  });

  test('a type that is not image-to-3d is accepted, with any object as input', async () => {
    const { create, task } = await newCaller();
    const id = await create({ type: 'video-to-3d', input: { video: 1 } });
    expect(await task(id)).toMatchObject({ type: 'image-to-3d' });
  });

  test('options and unknown fields are accepted with any value, and have no effect', async () => {
    const { create, task } = await newCaller();
    for (const options of [null, 7, 'fast', [], { steps: 9 }]) {
      const id = await create(photoJob({ options, color: 'red' }));
      expect(await task(id)).toMatchObject({ status: 'PENDING', progress: 0 });
    }
  });
});

describe('4.1 views, which are gen3d’s own', () => {
  test('can be photos of any other sides, each a URL or a data URI', async () => {
    const { create, task } = await newCaller();
    for (const views of [
      {},
      { left: photoUrl },
      { right: inline(10) },
      { left: photoUrl, back: inline(9), right: photoUrl },
    ]) {
      expect(await task(await create(withViews(views)))).toMatchObject({ status: 'PENDING' });
    }
    await create(withViews({ left: inline(3_000_000) }, inline(3_000_000)));
  });

  test.each([
    ['input.views.top: is unknown', { top: photoUrl }],
    ['input.views.front: is unknown', { front: photoUrl }],
    ['input.views.__proto__: is unknown', JSON.parse(`{"__proto__":"${photoUrl}"}`)],
    ['input.views.left: must be an http(s) URL', { left: 'photo.jpg', back: photoUrl }],
    ['input.views.back: has the scheme', { back: 'ftp://example.com/photo.jpg' }],
    ['input.views.back: contains 4194305 bytes', { back: inline(4 * 1024 ** 2 + 1) }],
    ['input.views.right: must be a string', { right: [photoUrl] }],
    ['input.views: must be an object', null],
    ['input.views: must be an object', Array(1_000).fill(photoUrl)],
    [
      'input.views.side0: is unknown',
      Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`side${i}`, photoUrl])),
    ],
  ])('are refused with 400, and the message says %s', async (problem, views) => {
    const { call, list } = await newCaller();
    const message = refused(await call('POST', '/v1/jobs', withViews(views)), 400, 'invalid_request');
    expect(message).toContain(problem);
    expect(message.length).toBeLessThan(200);
    expect((await list()).jobs).toEqual([]);
  });

  test('count in the limit of the body: two data URIs of 4 MiB are 400', async () => {
    const { call, list } = await newCaller();
    const image = inline(4 * 1024 ** 2);
    expect(
      refused(await call('POST', '/v1/jobs', withViews({ back: image }, image)), 400, 'invalid_request'),
    ).toContain('body');
    expect((await list()).jobs).toEqual([]);
  });

  test('do not make another job if an idempotency key is repeated without them', async () => {
    const { create } = await newCaller();
    const id = await create({ ...withViews({ left: inline(10) }), idempotency_key: 'k' });
    expect(await create({ ...withViews({ left: inline(10), back: inline(10) }), idempotency_key: 'k' })).toBe(id);
    expect(await create(photoJob({ idempotency_key: 'k' }))).toBe(id);
  });
});

describe('4.1 idempotency_key', () => {
  test('must have 1 to 256 characters', async () => {
    const { call, create } = await newCaller();
    const { min, max } = limits.idempotencyKeyLength;
    expect([min, max]).toEqual([1, 256]);
    for (const length of [1, 256]) await create(photoJob({ idempotency_key: 'k'.repeat(length) }));
    for (const length of [0, 257]) {
      const response = await call('POST', '/v1/jobs', photoJob({ idempotency_key: 'k'.repeat(length) }));
      expect(refused(response, 400, 'invalid_request')).toContain('idempotency_key');
    }
  });

  test('is measured in code points: 256 emoji are accepted, and 257 are refused', async () => {
    const { call, create } = await newCaller();
    const id = await create(photoJob({ idempotency_key: '💡'.repeat(256) }));
    expect(await create(photoJob({ idempotency_key: '💡'.repeat(256) }))).toBe(id);
    const response = await call('POST', '/v1/jobs', photoJob({ idempotency_key: '💡'.repeat(257) }));
    expect(refused(response, 400, 'invalid_request')).toContain('idempotency_key');
  });

  test('sent again, even with another body, returns 202 with the original job', async () => {
    const { create } = await newCaller();
    const id = await create(photoJob({ idempotency_key: 'k' }));
    expect(await create(photoJob({ idempotency_key: 'k' }))).toBe(id);
    expect(await create({ type: 'other', input: {}, idempotency_key: 'k' })).toBe(id);
    expect(await create(photoJob({ idempotency_key: 'K' }))).not.toBe(id);
    expect(await create(photoJob())).not.toBe(await create(photoJob()));
  });

  test('sent twenty times concurrently creates one job', async () => {
    const { create, list } = await newCaller();
    const body = { ...withImages(inline(1_000)), idempotency_key: 'k'.repeat(256) };
    const ids = await Promise.all(Array.from({ length: 20 }, () => create(body)));
    expect(new Set(ids).size).toBe(1);
    expect((await list()).jobs).toHaveLength(1);
  });

  test('is scoped to the account', async () => {
    const [first, second] = [await newCaller(), await newCaller()];
    const body = photoJob({ idempotency_key: 'k' });
    expect(await second.create(body)).not.toBe(await first.create(body));
  });

  test('is checked before the balance', async () => {
    const { accountId, call, create } = await newCaller(1);
    const body = photoJob({ idempotency_key: 'k' });
    const id = await create(body);
    await admin().creditAccount(accountId, -0.5);
    expect(await create(body)).toBe(id);
    expect((await call('POST', '/v1/jobs', photoJob())).status).toBe(402);
  });
});

describe('4.1 the minimum balance', () => {
  test('of exactly 1.00 USD is enough', async () => {
    await (await newCaller(1)).create();
  });

  test('if not reached is 402 insufficient_balance with balance_usd and min_balance_usd next to the error', async () => {
    for (const balance of [0.999999, 0, -2.5]) {
      const poor = await newCaller(0);
      if (balance !== 0) await admin().creditAccount(poor.accountId, balance);
      const { status, body } = await poor.call('POST', '/v1/jobs', photoJob());
      expect(status).toBe(402);
      expect(body).toEqual({
        error: { code: 'insufficient_balance', message: expect.any(String) },
        balance_usd: balance,
        min_balance_usd: 1,
      });
      expect((await poor.list()).jobs).toEqual([]);
    }
  });

  test('is checked after validation: an invalid request is 400 even without the balance', async () => {
    refused(await (await newCaller(0)).call('POST', '/v1/jobs', withImages()), 400, 'invalid_request');
  });
});
