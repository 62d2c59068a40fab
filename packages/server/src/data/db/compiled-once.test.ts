import { type Expression, sql } from 'kysely';
import { expect, test } from 'vitest';
import { newAccount, temporaryDatabase } from '../../../test/kit.js';
import { compiledOnce, type Parameters } from './compiled-once.js';
import { transaction } from './transaction.js';

test('a query is built once, and each execution has its own values, also in a transaction', async () => {
  const db = await temporaryDatabase();
  const [ann, bob] = [await newAccount(db), await newAccount(db)];
  let built = 0;
  const find = compiledOnce((anyDb, parameter: Parameters<{ id: string; sandbox: number }>) => {
    built++;
    return anyDb
      .selectFrom('accounts')
      .select('id')
      .where('sandbox', '=', parameter('sandbox'))
      .where('id', '=', parameter('id'));
  });
  expect((await find(db, { id: ann, sandbox: 0 })).rows).toEqual([{ id: ann }]);
  expect((await find(db, { id: ann, sandbox: 1 })).rows).toEqual([]);
  expect((await transaction(db, (trx) => find(trx, { id: bob, sandbox: 0 }))).rows).toEqual([{ id: bob }]);
  expect(built).toBe(1);
});

test('a query depends on which values are given, and an expression among them belongs to the query', async () => {
  const db = await temporaryDatabase();
  const [ann, bob] = [await newAccount(db), await newAccount(db)];
  const find = compiledOnce(
    (anyDb, parameter: Parameters<{ id?: string | Expression<string>; limit: number }>, given) =>
      anyDb
        .selectFrom('accounts')
        .select('id')
        .$if(given.includes('id'), (query) => query.where('id', '=', parameter('id')))
        .where('name', 'like', 'test %')
        .limit(parameter('limit')),
  );
  expect((await find(db, { limit: 10 })).rows).toHaveLength(2);
  expect((await find(db, { limit: 10, id: bob })).rows).toEqual([{ id: bob }]);
  const idOf = (id: string) => sql<string>`(select id from accounts where id = ${id})`;
  expect((await find(db, { limit: 10, id: idOf(ann) })).rows).toEqual([{ id: ann }]);
  expect((await find(db, { limit: 10, id: idOf(bob) })).rows).toEqual([{ id: bob }]);
});
