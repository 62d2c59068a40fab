import type { Config } from '../../config.js';
import type { Db } from '../db/open.js';
import { transaction } from '../db/transaction.js';

export type Rates = Readonly<Record<string, number>>;

/** Writes down what a server was told to charge, for the runners of other machines that were told nothing. */
export async function publishRates(db: Db, rates: Rates): Promise<void> {
  await transaction(db, async (trx) => {
    await trx.deleteFrom('rates').execute();
    const rows = Object.entries(rates).map(([instance, usd_per_second]) => ({ instance, usd_per_second }));
    // Two servers may start at once, with the same settings.
    const insert = trx.insertInto('rates').onConflict((conflict) => conflict.doNothing());
    if (rows.length > 0) await insert.values(rows).execute();
  });
}

/**
 * USD per second of inference on an instance: by the runner's own settings, or else by what the server published. Where
 * neither has prices, nobody is charged.
 * @throws {Error} when there are prices and none of them is for this instance
 */
export async function rateOf(db: Db, { rates: own }: Pick<Config, 'rates'>, instance: string): Promise<number> {
  const rates = own ?? (await publishedRates(db));
  if (!rates) return 0;
  const rate = rates[instance];
  if (rate === undefined)
    throw new Error(`The rates name no price for this instance, "${instance}"; set GEN3D_INSTANCE`);
  return rate;
}

async function publishedRates(db: Db): Promise<Rates | undefined> {
  const rows = await db.selectFrom('rates').selectAll().execute();
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map(({ instance, usd_per_second }) => [instance, usd_per_second]));
}
