// Two SQLite installations with one bucket or folder would delete each other's files.
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ConfigError } from '../src/base/errors.js';
import { newUlid } from '../src/base/ids.js';
import { startServer, temporaryFolder } from './kit.js';
import { bucketName, sharedS3 } from './s3/kit.js';

const s3 = sharedS3();

test.each(['a bucket', 'a folder'])(
  '%s of one SQLite installation is refused to another, until its marker is deleted',
  async (where) => {
    const location =
      where === 'a folder'
        ? { assets: temporaryFolder() }
        : { assets: `s3://${bucketName}/${newUlid()}`, s3Endpoint: s3.endpoint() };
    const first = { ...location, dataDir: temporaryFolder() };
    const second = { ...location, dataDir: temporaryFolder() };
    await (await startServer(first)).close();
    const refused: unknown = await startServer(second).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    const { message } = refused as ConfigError;
    expect(message).toContain(`belongs to another database: ${first.dataDir}/gen3d.sqlite on `);
    expect(message).toContain(`this one is ${second.dataDir}/gen3d.sqlite on `);
    await (await startServer(first)).close();

    const marker = /delete (\S+), and start again/.exec(message)?.[1] ?? '';
    if (where === 'a folder') rmSync(marker);
    else await s3.emptyBucket({ prefix: '' }).bucket.remove(marker.replace(`s3://${bucketName}/`, ''), 10_000);
    await (await startServer(second)).close();
  },
);
