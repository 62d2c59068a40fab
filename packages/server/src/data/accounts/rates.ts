import type { Config } from '../../config.js';
import type { Db } from '../db/database.js';
import { transaction } from '../db/transaction.js';

export type Rates = Readonly<Record<string, number>>;

/** Stores a server's rates for runners on other machines that have none in their settings. */
export async function publishRates(db: Db, rates: Rates): Promise<void> {
  await transaction(db, async (trx) => {
    await trx.deleteFrom('rates').execute();
    const rows = Object.entries(rates).map(([instance, usd_per_second]) => ({ instance, usd_per_second }));
    // Two servers with the same settings may start at the same time.
    const insert = trx.insertInto('rates').onConflict((conflict) => conflict.doNothing());
    if (rows.length > 0) await insert.values(rows).execute();
  });
}

/**
 * Returns the USD per second of inference on an instance, from the runner's own settings or else as published by the
 * server. 0 if neither has rates.
 * @throws {Error} if there are rates, but none for this instance
 */
export async function rateOf(db: Db, { rates: own }: Pick<Config, 'rates'>, instance: string): Promise<number> {
  const rates = own ?? (await publishedRates(db));
  if (!rates) return 0;
  const rate = rates[instance];
  if (rate === undefined) throw new Error(`No rate is set for this instance, "${instance}". Set GEN3D_INSTANCE`);
  return rate;
}

/** Whether models cost nothing: no rate, in the settings or published by a server, is above 0. */
export async function isFree(db: Db, { rates: own }: Pick<Config, 'rates'>): Promise<boolean> {
  const rates = own ?? (await publishedRates(db)) ?? {};
  return Object.values(rates).every((rate) => rate === 0);
}

async function publishedRates(db: Db): Promise<Rates | undefined> {
  const rows = await db.selectFrom('rates').selectAll().execute();
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map(({ instance, usd_per_second }) => [instance, usd_per_second]));
}
