import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { sandboxAccount } from '../accounts/accounts.js';
import { accountsWithOpenJobs } from './counts.js';

test('pages and searches of accounts count their open jobs, and have the sandbox last', async () => {
  const db = await temporaryDatabase();
  const { id: sandbox } = await sandboxAccount(db, 0);
  const [ann, ben, anna] = [await newAccount(db, 'Ann'), await newAccount(db, 'Ben_'), await newAccount(db, 'anna')];
  await newJob(db, ben);
  await newJob(db, ben, { status: 'SUCCEEDED', finished_at: 1 });
  const page = async (query: { search?: string; after?: string }) => {
    const { rows, more } = await accountsWithOpenJobs(db, { ...query, limit: 2 });
    return { found: rows.map(({ id, open_jobs }) => [id, Number(open_jobs)]), more };
  };
  expect(await page({})).toEqual({
    found: [
      [ann, 0],
      [ben, 1],
    ],
    more: true,
  });
  expect(await page({ after: ben })).toEqual({
    found: [
      [anna, 0],
      [sandbox, 0],
    ],
    more: false,
  });
  expect(await page({ search: '_' })).toEqual({ found: [[ben, 1]], more: false });
});
