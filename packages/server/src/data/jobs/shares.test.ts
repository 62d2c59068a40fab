import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { deleteJob } from './deletion.js';
import { shareModel } from './shares.js';

test('a model that is deleted while it is shared has no public page', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const model = {
    status: 'SUCCEEDED',
    finished_at: 1,
    model_key: 'job/model.glb',
    thumbnail_key: 'job/a.jpg',
  } as const;
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push(await newJob(db, account, model));
  expect(await shareModel(db, account, ids[0]!)).toBe(true);
  await Promise.all(ids.flatMap((id) => [shareModel(db, account, id), deleteJob(db, id, 2, account)]));
  expect(await shareModel(db, account, ids[0]!)).toBe(false);
  expect(await db.selectFrom('shared_models').selectAll().execute()).toEqual([]);
});
