import { type SelectQueryBuilder, sql } from 'kysely';
import { nextTurn } from '../../base/next-turn.js';
import type { Db } from './database.js';
import type { Tables } from './tables.js';

/**
 * How many rows of an account a query for a person may read, if no index leads to the result: 5,000 take about 2 ms on
 * SQLite, which blocks the event loop. A query that needs more must find an index, or stored sums.
 */
export const maxRowsRead = 5_000;

/** Small enough that the deleting transaction does not delay readers. */
const batchSize = 1_000;

/**
 * Deletes the rows that a query of their table finds, in batches, until none are left. Returns the number of deleted
 * rows.
 *
 * @param key a column that identifies a row
 */
export async function deleteInBatches<T extends keyof Tables>(
  db: Db,
  table: T,
  key: keyof Tables[T] & string,
  rows: SelectQueryBuilder<Tables, T, object>,
): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`delete from ${sql.table(table)}
      where ${sql.ref(key)} in ${rows.select(sql.ref(key).as(key)).limit(batchSize)}`.execute(db);
    total += Number(numAffectedRows);
    if (numAffectedRows < BigInt(batchSize)) return total;
    await nextTurn();
  }
}
