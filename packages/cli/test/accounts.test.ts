import { readFile, writeFile } from 'node:fs/promises';
import { publicTestKey } from '@gen3d/sdk';
import { beforeAll, expect, test } from 'vitest';
import { testFolder } from './run.js';

const { gen3d, path, serve } = testFolder();
let url: string;
beforeAll(async () => {
  ({ url } = await serve('--workers', '0'));
  // Commands without --base-url use another server.
  const profile = JSON.parse(await readFile(path('config', 'profile.json'), 'utf8'));
  await writeFile(path('config', 'profile.json'), JSON.stringify({ ...profile, current: 'http://127.0.0.1:1' }));
});

test('the account of the public test key cannot be administered', async () => {
  await gen3d(['balance', '--base-url', url, '--api-key', publicTestKey]);
  expect(await gen3d(['login', '--new-key', '--account', 'sandbox', '--base-url', url])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No account has the id sandbox or that name'),
  });
});
