import { expect, onTestFinished, test } from 'vitest';
import { startCluster } from '../../../server/test/postgres/cluster.js';
import { testFolder } from '../run.js';

const { gen3d, serve } = testFolder();

test('a missing password exits with a message that explains how to set it', async () => {
  const cluster = await startCluster({ password: 's3cret' });
  onTestFinished(() => cluster.remove());
  const url = new URL(cluster.url);
  url.password = '';
  // The process exits by itself, which shows that no handle stays open.
  const started = await gen3d(['serve', '--port', '0', '--workers', '0', '--database', url.href]);
  expect(started).toMatchObject({ code: 2, stdout: '' });
  expect(started.stderr).toContain('no password was given; put it into the URL or set PGPASSWORD');

  const old = await serve('--workers', '0');
  old.child.kill('SIGTERM');
  await old.ended;
  const moved = await gen3d(['admin', 'migrate-to', url.href]);
  expect(moved.code).not.toBe(0);
  expect(moved.stderr).toContain('no password was given; put it into the URL or set PGPASSWORD');
});
