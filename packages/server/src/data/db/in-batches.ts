import type { DeleteResult } from 'kysely';

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
