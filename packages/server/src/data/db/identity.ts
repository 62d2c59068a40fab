import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { isPostgres } from './dialect.js';
import type { Db } from './open.js';
import { withoutPassword } from './postgres.js';
import { isInsufficientPrivilege } from './rights.js';

export interface DatabaseIdentity {
  /** Unique per database: a copy made by a dump or a backup gets a different one. */
  id: string;
  /** For people. */
  name: string;
}

/**
 * Distinguishes a database from its copies. PostgreSQL: the identifier of the cluster and the oid of the database. SQLite:
 * a random file next to it that `gen3d admin backup` does not copy.
 */
export async function identityOf(db: Db, location: string): Promise<DatabaseIdentity> {
  if (!isPostgres(db)) return { id: identityFile(location), name: `${location} on ${hostname()}` };
  return { id: await postgresId(db), name: withoutPassword(location) };
}

async function postgresId(db: Db): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '/' || oid as id
      from pg_control_system(), pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  } catch (error) {
    if (!isInsufficientPrivilege(error)) throw error;
    // An administrator may have forbidden pg_control_system(). Name and oid are unique within the cluster, but a database
    // in another cluster may have the same ones.
    const { rows } = await sql<{ id: string }>`
      select datname || '/' || oid as id from pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  }
}

function identityFile(database: string): string {
  const path = join(dirname(database), 'installation.id');
  try {
    writeFileSync(path, randomBytes(16).toString('hex'), { flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
