import type { DeleteResult } from 'kysely';

/**
 * How many rows of an account a query for a person may read, if no index leads to the result: 5,000 take about 2 ms on
 * SQLite, which blocks the event loop. A query that needs more must find an index, or stored sums.
 */
export const maxRowsRead = 5_000;

/** Small enough that the deleting transaction does not delay readers. */
const batchSize = 1_000;

/** Deletes rows in batches until none are left. Returns the number of deleted rows. */
export async function inBatches(deleteSome: (limit: number) => Promise<DeleteResult>): Promise<number> {
  for (let total = 0; ; ) {
    const { numDeletedRows } = await deleteSome(batchSize);
    total += Number(numDeletedRows);
    if (numDeletedRows < BigInt(batchSize)) return total;
    await new Promise(setImmediate);
  }
}
