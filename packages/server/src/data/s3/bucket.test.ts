import { describe, expect, test, vi } from 'vitest';
import { bucketName, keysIn, sharedS3 } from '../../../test/s3/kit.js';
import { openFileStores } from '../installation/file-stores.js';
import { StorageUnavailableError } from './unavailable.js';

const s3 = sharedS3();
const bytes = Buffer.alloc(300_000, 7);
const binary = { type: 'application/octet-stream' };
const withinMs = 30_000;
const slowDown = { status: 503, code: 'SlowDown' };

// From before the first client: the SDK warns of an old Node once a process.
const warnings: Error[] = [];
process.on('warning', (warning) => void warnings.push(warning));

const puts = () => s3.proxy().seen.filter(({ what }) => what.startsWith('PUT')).length;

describe('a write', () => {
  test.each([
    ['is refused with 503 SlowDown, twice', [slowDown, slowDown]],
    ['fails with 500 on the side of the store', [{ status: 500, code: 'InternalError' }]],
    ['gets no answer', ['silence']],
    ['loses its connection before it is heard', ['cut']],
    ['loses its connection while its body is on the way', ['cut in body']],
    ['was done although its answer is lost', ['cut after']],
  ] as const)('that %s is done by a retry, once and whole', async (_name, faults) => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().plan(/^PUT/, ...faults);
    await bucket.put('key', bytes, binary, withinMs);
    expect(puts()).toBe(faults.length + 1);
    expect(await keysIn(bucket)).toEqual(['key']);
    expect(Buffer.compare((await bucket.get('key', withinMs))!, bytes)).toBe(0);
  });

  test('that cannot be done in its time is given up, with a sentence that names bucket and endpoint', async () => {
    const { bucket } = s3.emptyBucket({ silenceMs: 20_000 });
    s3.proxy().plan(/^PUT/, 'silence');
    const error = await bucket.put('key', bytes, binary, 300).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(StorageUnavailableError);
    expect((error as Error).message).toBe(
      `Cannot use the bucket "${bucketName}" at ${s3.endpoint()}: it did not answer in time`,
    );
  });
});

describe('a read', () => {
  test('of what is not there is undefined', async () => {
    expect(await s3.emptyBucket().bucket.get('nothing', withinMs)).toBeUndefined();
  });

  test('whose connection breaks in the middle of the answer fails, and gives no half object', async () => {
    const { bucket } = s3.emptyBucket();
    await bucket.put('key', bytes, binary, withinMs);
    s3.proxy().plan(/^GET/, 'cut in answer');
    await expect(bucket.get('key', withinMs)).rejects.toBeInstanceOf(StorageUnavailableError);
  });

  test('is tried again when the store is slow to answer or cut off before', async () => {
    const { bucket } = s3.emptyBucket();
    await bucket.put('key', bytes, binary, withinMs);
    s3.proxy().plan(/^GET/, 'silence', 'cut', slowDown);
    expect(await bucket.get('key', withinMs)).toHaveLength(bytes.length);
  });
});

describe('the check at the start', () => {
  const check = async (settings: { assets?: string; s3Endpoint?: string | undefined } = {}) => {
    const { assets = `s3://${bucketName}/check`, s3Endpoint = s3.endpoint() } = settings;
    return (await openFileStores({ assets, inputs: '/unused' }, { s3Endpoint, s3ForcePathStyle: undefined })).check();
  };
  const refusal = async (settings?: Parameters<typeof check>[0]) => {
    const error: unknown = await check(settings).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(error).toMatchObject({ name: 'ConfigError' });
    return (error as Error).message;
  };

  test('finds the address of the assets, and leaves nothing behind', async () => {
    expect(await check()).toBe(`${s3.endpoint()}/${bucketName}/check/assets`);
    expect(await check({ assets: `s3://${bucketName}` })).toBe(`${s3.endpoint()}/${bucketName}/assets`);
    expect(await keysIn(s3.emptyBucket({ prefix: 'check/' }).bucket)).toEqual([]);
  });

  test('says that there is no such bucket', async () => {
    expect(await refusal({ assets: 's3://no-such-bucket' })).toBe(
      `Cannot use the bucket "no-such-bucket" at ${s3.endpoint()}: there is no such bucket: make it, or name another one with --assets`,
    );
  });

  test('says that the credentials are refused', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'UNKNOWN');
    expect(await refusal()).toContain('it refuses the credentials (InvalidAccessKeyId): check AWS_ACCESS_KEY_ID');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER');
    s3.proxy().plan(/^GET/, { status: 403, code: 'SignatureDoesNotMatch' });
    expect(await refusal()).toContain('it refuses the credentials (SignatureDoesNotMatch)');
  });

  test('says that there are no credentials', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', '');
    expect(await refusal()).toContain('there are no credentials for it: set AWS_ACCESS_KEY_ID');
  });

  test('says that no region is set, when the endpoint is Amazon\u2019s', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    const files = await openFileStores(
      { assets: `s3://${bucketName}`, inputs: '/unused' },
      { s3Endpoint: undefined, s3ForcePathStyle: undefined },
    );
    await expect(files.check()).rejects.toThrow(
      `Cannot use the bucket "${bucketName}" at Amazon S3: no region is set for it: set AWS_REGION`,
    );
  });

  test('asks for no region where the endpoint says where to go', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    expect(await check()).toContain('/check/assets');
  });

  test('says that nobody answers at the endpoint', async () => {
    expect(await refusal({ s3Endpoint: 'http://127.0.0.1:1' })).toContain('it cannot be reached (ECONNREFUSED)');
  });

  test.each([
    [/^GET .*list-type/, 'listing (s3:ListBucket)'],
    [/^PUT/, 'writing (s3:PutObject)'],
    [/^GET .*GetObject/, 'reading (s3:GetObject)'],
    [/^DELETE/, 'deleting (s3:DeleteObject)'],
  ])('says what the credentials do not permit: %s', async (what, action) => {
    s3.proxy().plan(what, { status: 403, code: 'AccessDenied' });
    expect(await refusal()).toContain(`the credentials do not permit ${action}`);
  });
});

test('an error repeats nothing of the request, neither its message nor what a log prints of it', async () => {
  const { bucket } = s3.emptyBucket();
  s3.proxy().plan(/^PUT/, { status: 403, code: 'SignatureDoesNotMatch' });
  const error: unknown = await bucket.put('key', bytes, binary, withinMs).catch((error: unknown) => error);
  const { inspect } = await import('node:util');
  expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/S3RVER|Signature=|AWS4-HMAC/);
});

test('the SDK writes no warning of its own between the lines of the log', async () => {
  const { bucket } = s3.emptyBucket();
  await bucket.has('key', withinMs);
  expect(warnings.filter(({ message }) => message.includes('AWS SDK'))).toEqual([]);
});
