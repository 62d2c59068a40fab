import type { DeleteResult } from 'kysely';

/** Few enough that no reader waits for the deleting transaction. */
const batch = 1_000;

/** Deletes some rows at a time until fewer are found. Returns how many there were. */
export async function inBatches(deleteSome: (limit: number) => Promise<DeleteResult>): Promise<number> {
  for (let total = 0; ; ) {
    const { numDeletedRows } = await deleteSome(batch);
    total += Number(numDeletedRows);
    if (numDeletedRows < BigInt(batch)) return total;
    await new Promise(setImmediate);
  }
}
