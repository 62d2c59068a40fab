import { toMicroUsd } from '../../base/money.js';
import type { Config } from '../../config.js';
import type { Db } from '../db/database.js';
import { advisoryLock } from '../db/locks.js';
import type { Time } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { createAccount } from './accounts.js';
import type { ApiKeys } from './api-keys.js';

export interface Bootstrap {
  accountId: string;
  apiKey: string;
  /** False if the key comes from the settings, so it need not be printed. */
  generated: boolean;
}

/** Creates the account `default` with a key and a balance if there are no accounts. */
export async function bootstrap(db: Db, keys: ApiKeys, config: Config, now: Time): Promise<Bootstrap | undefined> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'bootstrap');
    const any = await trx.selectFrom('accounts').select('id').where('sandbox', '=', 0).limit(1).executeTakeFirst();
    if (any) return undefined;
    const balance = toMicroUsd(config.bootstrapBalanceUsd);
    const account = await createAccount(trx, { name: 'default', balance }, now);
    const { apiKey } = await keys.create(trx, account.id, now, {
      name: 'first start',
      apiKey: config.bootstrapApiKey,
    });
    return { accountId: account.id, apiKey, generated: config.bootstrapApiKey === undefined };
  });
}
