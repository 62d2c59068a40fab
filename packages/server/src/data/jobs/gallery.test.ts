import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { newUlid } from '../../base/ids.js';
import { maxRowsRead } from '../db/bounds.js';
import type { Db } from '../db/database.js';
import { countGallery, type GalleryQuery, listGallery } from './gallery.js';
import { labelColumns } from './job-store.js';

const page = { limit: 2 } as const satisfies GalleryQuery;
const labelsOf = async (db: Db, account: string, query: Partial<GalleryQuery>) =>
  (await listGallery(db, account, { ...page, ...query })).rows.map(({ label }) => label);

/** Inserts copies of a job with new ids. */
async function insertCopies(db: Db, jobId: string, count: number): Promise<void> {
  const { id: _, ...job } = await db.selectFrom('jobs').selectAll().where('id', '=', jobId).executeTakeFirstOrThrow();
  for (let rest = count; rest > 0; rest -= 500) {
    const copies = Array.from({ length: Math.min(500, rest) }, () => ({ id: newUlid(), ...job }));
    await db.insertInto('jobs').values(copies).execute();
  }
}

test('a search and its counts read only the newest jobs; other pages and counts reach all', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const succeeded = { status: 'SUCCEEDED', finished_at: 1 } as const;
  const oldest = await newJob(db, account, { status: 'FAILED', finished_at: 1, ...labelColumns('a needle') });
  const first = await newJob(db, account, { ...succeeded, ...labelColumns('b needle') });
  const other = await newJob(db, account, { ...succeeded, ...labelColumns('hay') });
  await insertCopies(db, other, maxRowsRead - 2);
  expect(await labelsOf(db, account, { search: 'needle' })).toEqual(['b needle']);
  expect(await countGallery(db, account, 'needle')).toEqual({ in_progress: 0, done: 1, failed: 0 });
  expect(await labelsOf(db, account, { group: 'failed' })).toEqual(['a needle']);
  expect(await countGallery(db, account, undefined)).toMatchObject({ done: 1_000, failed: 1 });
  expect(await labelsOf(db, account, { id: oldest })).toEqual(['a needle']);
  await insertCopies(db, other, 1);
  expect(await labelsOf(db, account, { search: first })).toEqual([]);
});

test('the next page follows the last job of the previous one, also if that was deleted', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  for (const label of ['a', 'b', 'c', 'd']) await newJob(db, account, labelColumns(label));
  const { rows, more } = await listGallery(db, account, page);
  expect(rows.map(({ label }) => label)).toEqual(['d', 'c']);
  expect(more).toBe(true);
  const { id } = rows[1]!;
  await db.deleteFrom('jobs').where('id', '=', id).execute();
  expect(await labelsOf(db, account, { after: id })).toEqual(['b', 'a']);
});

test('a label whose folded form would be 18 times as long is cut to its own length', () => {
  expect(labelColumns('\uFDFA'.repeat(200)).label_folded).toHaveLength(200);
});
