import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { type Db, kindOf } from '../data/db/database.js';
import type { DatabaseIdentity } from './markers.js';
import { isInsufficientPrivilege, withoutPassword } from './postgres/connections.js';

/** Distinguishes a database from its copies. */
export const identityOf = async (db: Db, location: string): Promise<DatabaseIdentity> =>
  kindOf(db).isShared
    ? { id: await idInCluster(db), name: withoutPassword(location) }
    : { id: idNextTo(location), name: `${location} on ${hostname()}` };

/** Identifies a SQLite database by a random file next to it, which `gen3d admin backup` does not copy. */
function idNextTo(database: string): string {
  const path = join(dirname(database), 'installation.id');
  try {
    writeFileSync(path, randomBytes(16).toString('hex'), { flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}

/** Identifies a PostgreSQL database by its cluster's identifier and its own oid. */
async function idInCluster(db: Db): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '/' || oid as id
      from pg_control_system(), pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  } catch (error) {
    if (!isInsufficientPrivilege(error)) throw error;
    // An administrator may have forbidden pg_control_system(). Name and oid are unique within the cluster, but a
    // database in another cluster may have the same ones.
    const { rows } = await sql<{ id: string }>`
      select datname || '/' || oid as id from pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  }
}
