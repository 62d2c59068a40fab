import { randomBytes } from 'node:crypto';
import { ConfigError } from '../../base/errors.js';
import { fingerprintOf } from '../../base/server-key.js';
import type { Db } from '../../data/db/database.js';
import { withSharedTables } from './shared-tables.js';

/**
 * The key of all servers of a PostgreSQL: from their settings, or else a random one that the database stores. The database
 * also stores a fingerprint: a server with another key does not start. It would issue API keys that no other server accepts,
 * and could not decrypt the webhook secrets.
 * @throws {ConfigError} if the key in the settings is not the database's, or is missing
 */
export async function sharedKey(db: Db, given?: string): Promise<Buffer> {
  const offered = given ?? randomBytes(32).toString('hex');
  const tables = withSharedTables(db);
  await tables
    .insertInto('server_key')
    .values({ id: 1, key: given === undefined ? offered : null, fingerprint: fingerprintOf(offered) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const stored = await tables.selectFrom('server_key').selectAll().executeTakeFirstOrThrow();
  const key = given ?? stored.key;
  if (key === null) {
    throw new ConfigError('This database was set up with GEN3D_SERVER_KEY. Give this server the same key');
  }
  if (fingerprintOf(key) !== stored.fingerprint) {
    throw new ConfigError(
      'GEN3D_SERVER_KEY is not the key that this database was set up with. Give all its servers the same key',
    );
  }
  return Buffer.from(key, 'hex');
}
