import { randomBytes } from 'node:crypto';
import { ConfigError } from '../../base/errors.js';
import { fingerprintOf } from '../../base/server-key.js';
import type { Db } from '../db/open.js';

/**
 * The key of all servers of one PostgreSQL: the one that their settings give, else one that the database keeps, made by
 * whoever comes first. The database also keeps a fingerprint, so that a server with another key does not start, issue API
 * keys that no other server knows and fail on every webhook secret.
 * @throws {ConfigError} if the settings give another key than the database was set up with, or none where they gave one
 */
export async function sharedKey(db: Db, given?: string): Promise<Buffer> {
  const offered = given ?? randomBytes(32).toString('hex');
  await db
    .insertInto('server_key')
    .values({ id: 1, key: given === undefined ? offered : null, fingerprint: fingerprintOf(offered) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const kept = await db.selectFrom('server_key').selectAll().executeTakeFirstOrThrow();
  const key = given ?? kept.key;
  if (key === null) {
    throw new ConfigError('This database was set up with GEN3D_SERVER_KEY: give this server the same one');
  }
  if (fingerprintOf(key) !== kept.fingerprint) {
    throw new ConfigError(
      'GEN3D_SERVER_KEY is not the key that this database was set up with: give every server of it that one',
    );
  }
  return Buffer.from(key, 'hex');
}
