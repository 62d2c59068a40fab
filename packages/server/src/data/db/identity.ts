import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { isPostgres } from './dialect.js';
import type { Db } from './open.js';
import { withoutPassword } from './postgres.js';
import { isWantOfRights } from './rights.js';

export interface DatabaseIdentity {
  /** Differs from that of every other database, also from that of a copy made by a dump or a backup. */
  id: string;
  /** For people. */
  name: string;
}

/**
 * Tells a database from its copies. For PostgreSQL it is the cluster and the database in it, for SQLite a random file
 * beside it that `gen3d admin backup` does not copy.
 */
export async function identityOf(db: Db, location: string): Promise<DatabaseIdentity> {
  if (!isPostgres(db)) return { id: fileBeside(location), name: `${location} on ${hostname()}` };
  return { id: await postgresId(db), name: withoutPassword(location) };
}

async function postgresId(db: Db): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '/' || oid as id
      from pg_control_system(), pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  } catch (error) {
    if (!isWantOfRights(error)) throw error;
    // Every user may call pg_control_system() unless an administrator forbids it. The name and oid of the database still
    // tell it from the others of its cluster, but not from one of the same name and oid in another cluster.
    const { rows } = await sql<{ id: string }>`
      select datname || '/' || oid as id from pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  }
}

function fileBeside(database: string): string {
  const path = join(dirname(database), 'installation.id');
  try {
    writeFileSync(path, randomBytes(16).toString('hex'), { flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
