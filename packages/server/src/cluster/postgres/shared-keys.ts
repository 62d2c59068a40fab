import type { Transaction } from 'kysely';
import { ConfigError } from '../../base/errors.js';
import { fingerprintOf, keysOf, newKey, rotated, type ServerKeys, textOf } from '../../base/server-key.js';
import type { Db } from '../../data/db/database.js';
import type { Tables } from '../../data/db/tables.js';
import { advisoryLock } from '../../data/db/transaction.js';
import type { KeyStore } from '../../data/installation/key-store.js';
import { withSharedTables } from './shared-tables.js';

/** Keeps the server keys in a PostgreSQL database. `given` are those in the settings of this server. */
export const sharedKeys = (db: Db, given?: string): KeyStore => ({
  read: () => readSharedKeys(db, given),
  rotate: (trx) => rotateSharedKey(trx, given),
});

/**
 * Returns the keys that all servers of a PostgreSQL database share: those in their settings, or else random ones that
 * the database stores. The database also stores a fingerprint of the current key. A server without that key does not
 * start, because it would issue API keys that no other server accepts, and could not decrypt the webhook secrets.
 * @throws {ConfigError} if the settings lack the database's key
 */
async function readSharedKeys(db: Db, given?: string): Promise<ServerKeys> {
  const offered = given === undefined ? [newKey()] : keysOf(given);
  const fingerprints = offered.map(fingerprintOf);
  const tables = withSharedTables(db);
  await tables
    .insertInto('server_key')
    .values({
      id: 1,
      key: given === undefined ? textOf(offered) : null,
      fingerprint: fingerprints[0] as string,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const stored = await tables.selectFrom('server_key').selectAll().executeTakeFirstOrThrow();
  if (given === undefined) {
    if (stored.key !== null) return keysOf(stored.key);
    throw new ConfigError('This database was set up with GEN3D_SERVER_KEY. Give this server the same key');
  }
  if (!fingerprints.includes(stored.fingerprint)) {
    throw new ConfigError(
      'GEN3D_SERVER_KEY is not the key that this database was set up with. Give all its servers the same key',
    );
  }
  return offered;
}

/** Makes a new key the current one: a random one, or the first in the settings. */
async function rotateSharedKey(trx: Transaction<Tables>, given?: string): Promise<void> {
  await advisoryLock(trx, 'rotate server key');
  const tables = withSharedTables(trx);
  const { key } = await tables.selectFrom('server_key').select('key').executeTakeFirstOrThrow();
  const keys = key === null ? keysOf(given as string) : rotated(keysOf(key));
  await tables
    .updateTable('server_key')
    .set({ key: key === null ? null : textOf(keys), fingerprint: fingerprintOf(keys[0] as Buffer) })
    .execute();
}
