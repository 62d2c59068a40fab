import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { prepared } from './prepared.js';

test('each call finds what its own values say, in whatever order the query uses them', async () => {
  const db = await temporaryDatabase();
  const [one, two] = [await newAccount(db), await newAccount(db)];
  const [ofOne, ofTwo] = [await newJob(db, one), await newJob(db, two)];
  const find = prepared((on, account: string, id: string) =>
    on
      .selectFrom('jobs')
      .select('id')
      .where('id', '=', id)
      .where('account_id', '=', account)
      .where('status', '=', 'PENDING'),
  );
  expect(await find(db, one, ofOne)).toEqual({ id: ofOne });
  expect(await find(db, two, ofTwo)).toEqual({ id: ofTwo });
  expect(await find(db, two, ofOne)).toBeUndefined();
  expect(await db.transaction().execute((trx) => find(trx, two, ofTwo))).toEqual({ id: ofTwo });
});

test('a query that computes with a value is refused', async () => {
  const db = await temporaryDatabase();
  const find = prepared((on, id: string) => on.selectFrom('jobs').select('id').where('id', '=', id.toUpperCase()));
  await expect(find(db, 'a')).rejects.toThrow('changed its value 0');
});

test('an expression among the values is part of the query, which is built once for it', async () => {
  const db = await temporaryDatabase();
  const ids = await newAccount(db).then(async (account) => [await newJob(db, account), await newJob(db, account)]);
  let built = 0;
  const find = prepared((on, prefix: unknown, id: string) => {
    built++;
    return on
      .selectFrom('jobs')
      .select([sql<string>`${prefix}`.as('prefix'), 'id'])
      .where('id', '=', id);
  });
  const [one, other] = [sql<string>`'one'`, sql<string>`'other'`];
  for (const prefix of [one, other, one, other]) {
    for (const id of ids) {
      expect(await find(db, prefix, id)).toEqual({ prefix: prefix === one ? 'one' : 'other', id });
    }
  }
  expect(built).toBe(2);
});

test('the same expression may be another value from call to call', async () => {
  const db = await temporaryDatabase();
  const find = prepared((on, first: unknown, second: unknown) =>
    on.selectNoFrom([sql<string>`${first}`.as('first'), sql<string>`${second}`.as('second')]),
  );
  const one = sql<string>`'one'`;
  expect(await find(db, one, 'b')).toEqual({ first: 'one', second: 'b' });
  expect(await find(db, 'a', one)).toEqual({ first: 'a', second: 'one' });
  expect(await find(db, one, one)).toEqual({ first: 'one', second: 'one' });
});
