import { chmodSync } from 'node:fs';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../kit.js';
import { startCluster } from './cluster.js';

test('the PostgreSQL of the tests starts even if only its owner can access $TMPDIR, also as root', async () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o700);
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const cluster = await startCluster();
  onTestFinished(() => cluster.remove());
  const client = new pg.Client({ connectionString: cluster.url });
  await client.connect();
  onTestFinished(() => client.end());
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});
