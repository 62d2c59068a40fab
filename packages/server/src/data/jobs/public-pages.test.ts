import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { deleteJob } from './deletion.js';
import { addPublicPage, findPublicPage } from './public-pages.js';
import { deleteOldJobs } from './retention.js';

const model = {
  status: 'SUCCEEDED',
  finished_at: 1,
  model_key: 'job/model.glb',
  thumbnail_key: 'job/a.jpg',
} as const;

test('a model that is deleted while it is shared has no public page', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push(await newJob(db, account, model));
  expect(await addPublicPage(db, account, ids[0]!)).toBe(true);
  await Promise.all(ids.flatMap((id) => [addPublicPage(db, account, id), deleteJob(db, id, 2, account)]));
  expect(await addPublicPage(db, account, ids[0]!)).toBe(false);
  expect(await db.selectFrom('jobs').select('share_token').execute()).toEqual([]);
});

test('a public page ends with the record of its job, because no list shows it afterwards', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const id = await newJob(db, account, { ...model, id: '0'.repeat(26), label: 'mug' });
  await addPublicPage(db, account, id);
  const { share_token } = await db.selectFrom('jobs').select('share_token').executeTakeFirstOrThrow();
  expect(await findPublicPage(db, share_token!)).toMatchObject({ title: 'mug', modelKey: model.model_key });
  expect(await deleteOldJobs(db, 91 * dayMs)).toBe(1);
  expect(await findPublicPage(db, share_token!)).toBeUndefined();
});
