import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, vi } from 'vitest';
import { newUlid } from '../../src/base/ids.js';
import { Bucket, type BucketOptions } from '../../src/data/s3/bucket.js';
import { temporaryFolder } from '../kit.js';
import { FaultyProxy } from './faulty-proxy.js';

export const bucketName = 'models';
const serverFile = fileURLToPath(new URL('server.mjs', import.meta.url));

/** The credentials that the server knows, and nothing of those that the machine may have. */
const environment = {
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
  AWS_REGION: 'us-east-1',
  AWS_PROFILE: undefined,
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
};

/** A server that speaks S3 and a proxy before it that can break what passes, for the tests of a file. */
export function sharedS3() {
  let store = '';
  let endpoint = '';
  let proxy: FaultyProxy;
  const endings: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    const folder = temporaryFolder((end) => void endings.push(end));
    // Its page tokens are encrypted with DES, which OpenSSL 3 keeps for those who ask.
    const child = spawn(process.execPath, ['--openssl-legacy-provider', serverFile, folder, bucketName], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    endings.push(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    [store] = (await once(createInterface(child.stdout), 'line')) as [string];
    proxy = new FaultyProxy(store);
    endings.push(() => proxy.stop());
    endpoint = await proxy.start();
  });
  beforeEach(() => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    proxy.mend();
    proxy.seen.length = 0;
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    for (const end of endings.reverse()) await end();
  });
  return {
    proxy: () => proxy,
    /** Through the proxy. */
    endpoint: () => endpoint,
    /** Past the proxy. */
    store: () => store,
    /** A part of the bucket for one test. */
    emptyBucket(options: Partial<BucketOptions> = {}): { bucket: Bucket; prefix: string; url: string } {
      const prefix = options.prefix ?? `${newUlid()}/`;
      const bucket = new Bucket({
        bucket: bucketName,
        endpoint,
        forcePathStyle: true,
        idleTimeoutMs: 2_000,
        ...options,
        prefix,
      });
      // Past the proxy and without credentials, as everybody reads a bucket whose policy lets them.
      return { bucket, prefix, url: `${store}/${bucketName}/${prefix}` };
    },
  };
}

/** But for the mark that PostgreSQL's servers know the place by. */
export async function keysIn(bucket: Bucket, start = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of bucket.list(start, 10_000)) if (!key.startsWith('installations/')) keys.push(key);
  return keys;
}
