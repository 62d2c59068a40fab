import type { Queryable } from '../db/database.js';
import { currentTime } from '../db/time.js';
import { isValidToken } from './dashboard-tokens.js';

/** The API key, by its id, or the session of the dashboard, by its hash, that admitted a long request. */
export interface Credential {
  kind: 'key' | 'session';
  id: string;
}

/** Returns the ids of those that still admit requests: not revoked, signed out or expired. */
export async function findValid(db: Queryable, credentials: readonly Credential[]): Promise<ReadonlySet<string>> {
  const idsOf = (kind: Credential['kind']) => credentials.filter((one) => one.kind === kind).map(({ id }) => id);
  const [keys, sessions] = [idsOf('key'), idsOf('session')];
  const validKeys = db.selectFrom('api_keys').select('id').where('revoked_at', 'is', null);
  const found = [
    ...(keys.length === 0 ? [] : await validKeys.where('id', 'in', keys).execute()),
    ...(sessions.length === 0
      ? []
      : await db
          .selectFrom('dashboard_tokens')
          .select('hash as id')
          .where('hash', 'in', sessions)
          .where(isValidToken(currentTime(db)))
          .where((eb) => eb.or([eb('key_id', 'is', null), eb('key_id', 'in', validKeys)]))
          .execute()),
  ];
  return new Set(found.map(({ id }) => id));
}
