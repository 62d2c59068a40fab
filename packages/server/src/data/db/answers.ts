import type { Db } from './open.js';

/** Resolves with true when the database answers, and rejects otherwise. */
export const answers = (db: Db): Promise<boolean> =>
  db
    .selectFrom('accounts')
    .select('id')
    .limit(1)
    .execute()
    .then(() => true);
