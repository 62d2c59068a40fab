import { publicTestKey } from '@gen3d/sdk';
import { beforeAll, expect, test } from 'vitest';
import { testFolder } from './run.js';

const { gen3d, serve } = testFolder();
let url: string;
beforeAll(async () => {
  ({ url } = await serve('--workers', '0'));
});

test('the account of the public test key cannot be administered', async () => {
  await gen3d(['balance', '--base-url', url, '--api-key', publicTestKey]);
  expect(await gen3d(['login', '--new-key', '--account', 'sandbox', '--base-url', url])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No account has the id sandbox or that name'),
  });
});
