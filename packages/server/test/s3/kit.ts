import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, vi } from 'vitest';
import { newUlid } from '../../src/base/ids.js';
import { Bucket, type BucketOptions } from '../../src/cluster/s3/bucket.js';
import { temporaryFolder } from '../kit.js';
import { FaultyProxy } from './faulty-proxy.js';

export const bucketName = 'models';
const serverFile = fileURLToPath(new URL('server.mjs', import.meta.url));

/** The credentials that the server accepts, without those of the machine. */
const environment = {
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
  AWS_REGION: 'us-east-1',
  AWS_PROFILE: undefined,
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
};

/** An S3 server and a proxy in front of it that injects faults, for the tests of a file. */
export function sharedS3() {
  let store = '';
  let endpoint = '';
  let proxy: FaultyProxy;
  const cleanups: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    const folder = temporaryFolder((end) => void cleanups.push(end));
    // It encrypts page tokens with DES, which needs the legacy provider of OpenSSL 3.
    const child = spawn(process.execPath, ['--openssl-legacy-provider', serverFile, folder, bucketName], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    cleanups.push(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    [store] = (await once(createInterface(child.stdout), 'line')) as [string];
    proxy = new FaultyProxy(store);
    cleanups.push(() => proxy.stop());
    endpoint = await proxy.start();
  });
  beforeEach(() => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    proxy.mend();
    proxy.seen.length = 0;
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    for (const end of cleanups.reverse()) await end();
  });
  return {
    proxy: () => proxy,
    /** URL of the proxy. */
    endpoint: () => endpoint,
    /** URL of the server. */
    store: () => store,
    /** A new prefix of the bucket for one test. */
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
      // Direct and without credentials, as the public reads a bucket whose policy allows it.
      return { bucket, prefix, url: `${store}/${bucketName}/${prefix}` };
    },
  };
}

/** The keys in the bucket, without the location markers of PostgreSQL installations. */
export async function keysIn(bucket: Bucket, start = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of bucket.list(start, 10_000)) if (!key.startsWith('installations/')) keys.push(key);
  return keys;
}
