import type { RequestListener } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { site } from '../../../test/kit.js';
import { bucketName, keysIn, sharedS3 } from '../../../test/s3/kit.js';
import { StorageUnavailableError } from '../../base/errors.js';
import { edges } from '../../composition.js';
import { Bucket } from './bucket.js';

const s3 = sharedS3();
const bytes = Buffer.alloc(300_000, 7);
const binary = { type: 'application/octet-stream' };
const timeoutMs = 30_000;
const slowDown = { status: 503, code: 'SlowDown' };

// Before the first client, because the SDK warns about an old Node once per process.
const warnings: Error[] = [];
process.on('warning', (warning) => void warnings.push(warning));

const puts = () => s3.proxy().seen.filter(({ what }) => what.startsWith('PUT')).length;

describe('a write', () => {
  test.each([
    ['is refused with 503 SlowDown, twice', [slowDown, slowDown]],
    ['fails with 500', [{ status: 500, code: 'InternalError' }]],
    ['gets no response', ['silence']],
    ['loses its connection before it arrives', ['cut']],
    ['loses its connection while the body is sent', ['cut in body']],
    ['succeeded although its response was lost', ['cut after']],
  ] as const)('that %s is retried, and stored once and completely', async (_name, faults) => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().plan(/^PUT/, ...faults);
    await bucket.put('key', bytes, binary, timeoutMs);
    expect(puts()).toBe(faults.length + 1);
    expect(await keysIn(bucket)).toEqual(['key']);
    expect(Buffer.compare((await bucket.get('key', timeoutMs))!, bytes)).toBe(0);
  });

  test('whose connections are all closed is not reported as a timeout', async () => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().down = true;
    await expect(bucket.put('key', bytes, binary, timeoutMs)).rejects.toThrow(
      /it closed the connection \(ECONNRESET\)$/,
    );
  });

  test('that times out rejects with a message that names bucket and endpoint', async () => {
    const { bucket } = s3.emptyBucket({ idleTimeoutMs: 20_000 });
    s3.proxy().plan(/^PUT/, 'silence');
    const error = await bucket.put('key', bytes, binary, 300).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(StorageUnavailableError);
    expect((error as Error).message).toBe(
      `Cannot use the bucket "${bucketName}" at ${s3.endpoint()}: it did not respond in time`,
    );
  });
});

describe('a read', () => {
  test('of a missing object is undefined', async () => {
    expect(await s3.emptyBucket().bucket.get('nothing', timeoutMs)).toBeUndefined();
  });

  test('whose connection breaks during the response rejects, without a partial object', async () => {
    const { bucket } = s3.emptyBucket();
    await bucket.put('key', bytes, binary, timeoutMs);
    s3.proxy().plan(/^GET/, 'cut in answer');
    await expect(bucket.get('key', timeoutMs)).rejects.toBeInstanceOf(StorageUnavailableError);
  });

  test('is retried after a timeout or a lost connection', async () => {
    const { bucket } = s3.emptyBucket();
    await bucket.put('key', bytes, binary, timeoutMs);
    s3.proxy().plan(/^GET/, 'silence', 'cut', slowDown);
    expect(await bucket.get('key', timeoutMs)).toHaveLength(bytes.length);
  });
});

describe('the check at the start', () => {
  const check = async (settings: { assets?: string; s3Endpoint?: string | undefined } = {}) => {
    const { assets = `s3://${bucketName}/check`, s3Endpoint = s3.endpoint() } = settings;
    return (
      await edges.openFileStores({ assets, inputs: '/unused' }, { s3Endpoint, s3ForcePathStyle: undefined })
    ).check();
  };
  const refusal = async (settings?: Parameters<typeof check>[0]) => {
    const error: unknown = await check(settings).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(error).toMatchObject({ name: 'ConfigError' });
    return (error as Error).message;
  };

  test('finds the address of the assets, and leaves no object behind', async () => {
    expect(await check()).toBe(`${s3.endpoint()}/${bucketName}/check/assets`);
    expect(await check({ assets: `s3://${bucketName}` })).toBe(`${s3.endpoint()}/${bucketName}/assets`);
    expect(await keysIn(s3.emptyBucket({ prefix: 'check/' }).bucket)).toEqual([]);
  });

  test('reports a missing bucket', async () => {
    expect(await refusal({ assets: 's3://no-such-bucket' })).toBe(
      `Cannot use the bucket "no-such-bucket" at ${s3.endpoint()}: the bucket does not exist; create it, or choose another one with --assets`,
    );
  });

  test('reports refused credentials', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'UNKNOWN');
    expect(await refusal()).toContain('it refuses the credentials (InvalidAccessKeyId); check AWS_ACCESS_KEY_ID');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER');
    s3.proxy().plan(/^GET/, { status: 403, code: 'SignatureDoesNotMatch' });
    expect(await refusal()).toContain('it refuses the credentials (SignatureDoesNotMatch)');
  });

  test('reports missing credentials', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', '');
    expect(await refusal()).toContain('there are no credentials for it; set AWS_ACCESS_KEY_ID');
  });

  test('reports a missing region for Amazon\u2019s endpoint', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    const files = await edges.openFileStores(
      { assets: `s3://${bucketName}`, inputs: '/unused' },
      { s3Endpoint: undefined, s3ForcePathStyle: undefined },
    );
    await expect(files.check()).rejects.toThrow(
      `Cannot use the bucket "${bucketName}" at Amazon S3: no region is set for it; set AWS_REGION`,
    );
  });

  test('requires no region for another endpoint', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    expect(await check()).toContain('/check/assets');
  });

  test('reports an unreachable endpoint', async () => {
    expect(await refusal({ s3Endpoint: 'http://127.0.0.1:1' })).toContain('it cannot be reached (ECONNREFUSED)');
  });

  test.each([
    [/^GET .*list-type/, 'listing (s3:ListBucket)'],
    [/^PUT/, 'writing (s3:PutObject)'],
    [/^GET .*GetObject/, 'reading (s3:GetObject)'],
    [/^DELETE/, 'deleting (s3:DeleteObject)'],
  ])('reports what the credentials do not permit: %s', async (what, action) => {
    s3.proxy().plan(what, { status: 403, code: 'AccessDenied' });
    expect(await refusal()).toContain(`the credentials do not permit ${action}`);
  });
});

describe('a faulty server', () => {
  const at = async (listener: RequestListener) =>
    new Bucket({ bucket: 'models', prefix: 'ours/', endpoint: await site(listener), forcePathStyle: true });
  const listing = (inner: string) => `<ListBucketResult>${inner}</ListBucketResult>`;
  const keysOf = async (bucket: Bucket) => {
    const keys: string[] = [];
    for await (const { key } of bucket.list('inputs/', timeoutMs)) keys.push(key);
    return keys;
  };
  const notS3 = {
    name: 'StorageUnavailableError',
    message: expect.stringMatching(/it does not respond like an S3 server; check GEN3D_S3_ENDPOINT$/),
  };

  test.each<[string, (bucket: Bucket) => Promise<unknown>]>([
    ['list', keysOf],
    ['read', (bucket) => bucket.get('key', timeoutMs)],
    ['stream', (bucket) => bucket.open('key', timeoutMs)],
    ['write', (bucket) => bucket.put('key', bytes, binary, timeoutMs)],
    ['copy', (bucket) => bucket.copy('key', 'new key', timeoutMs)],
  ])('that returns a web page makes every %s fail', async (_name, use) => {
    const bucket = await at((request, response) => {
      request.resume();
      response.setHeader('content-type', 'text/html').end('<html><body>Sign in</body></html>');
    });
    await expect(use(bucket)).rejects.toMatchObject(notS3);
  });

  test('that lists keys with other prefixes has those keys skipped', async () => {
    const keys = ['theirs/inputs/a', 'ours/assets/b', 'ours/inputs/c', 'c'];
    const entries = keys.map(
      (key) => `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
    );
    const bucket = await at((_request, response) =>
      response.end(listing(`<IsTruncated>false</IsTruncated>${entries.join('')}`)),
    );
    expect(await keysOf(bucket)).toEqual(['inputs/c']);
  });

  test('that repeats a continuation token is reported', async () => {
    const page = '<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>';
    await expect(keysOf(await at((_request, response) => response.end(listing(page))))).rejects.toMatchObject(notS3);
  });

  test('that sends an object without a length, or with an absurd one, is reported', async () => {
    const chunked = await at((_request, response) => {
      response.setHeader('etag', '"1"').write('some');
      response.end('thing');
    });
    await expect(chunked.get('key', timeoutMs)).rejects.toMatchObject(notS3);
    await expect(chunked.open('key', timeoutMs)).rejects.toMatchObject(notS3);
    const large = await at((_request, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 10 ** 12 }).write('some');
    });
    await expect(large.get('key', timeoutMs)).rejects.toMatchObject(notS3);
  });
});

test('an error quotes nothing of the request, neither in its message nor in a log', async () => {
  const { bucket } = s3.emptyBucket();
  s3.proxy().plan(/^PUT/, { status: 403, code: 'SignatureDoesNotMatch' });
  const error: unknown = await bucket.put('key', bytes, binary, timeoutMs).catch((error: unknown) => error);
  const { inspect } = await import('node:util');
  expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/S3RVER|Signature=|AWS4-HMAC/);
});

test('the SDK prints no warning between the lines of the log', async () => {
  const { bucket } = s3.emptyBucket();
  await bucket.has('key', timeoutMs);
  expect(warnings.filter(({ message }) => message.includes('AWS SDK'))).toEqual([]);
});
