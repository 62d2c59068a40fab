import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ballPhoto } from '../../../server/test/ball-photo.js';
import { newPostgresDatabase } from '../../../server/test/kit.js';
import { startCluster } from '../../../server/test/postgres/cluster.js';
import type {} from '../../../server/test/postgres/global-setup.js';
import { testFolder } from '../run.js';

const { gen3d, path, serve } = testFolder();

test('migrate-to prints how many rows it has copied, and what remains where it is', {
  timeout: 180_000,
}, async () => {
  const old = await serve('--workers', '0');
  await gen3d(['create', 'https://example.com/photo.jpg']);
  await writeFile(path('photo.png'), ballPhoto());
  await gen3d(['create', 'photo.png']);
  old.child.kill('SIGTERM');
  await old.ended;

  const database = await newPostgresDatabase(onTestFinished, 'template0');
  const moved = await gen3d(['admin', 'migrate-to', database]);
  expect(moved.code).toBe(0);
  const counts = moved.stdout.split('\n').map((line) => line.trim().split(/ +/));
  expect(counts).toContainEqual(['table', 'SQLite', 'PostgreSQL']);
  expect(counts).toContainEqual(['jobs', '2', '2']);
  expect(moved.stderr).toContain(`The models and photos remain in ${path('data')}`);
  expect(moved.stderr).toContain('1 unfinished job cannot be finished without the photos');
});

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
