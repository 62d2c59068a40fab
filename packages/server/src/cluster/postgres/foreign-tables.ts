import { type Kysely, sql } from 'kysely';
import { ConfigError } from '../../base/errors.js';
import type { Tables } from '../../data/db/tables.js';

/** @throws {ConfigError} if the PostgreSQL schema has another program's tables and none of ours */
export async function requireNoForeignTables(db: Kysely<Tables>, location: string): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and not exists (select 1 from pg_depend where objid = pg_class.oid and deptype = 'e')
    order by relname`.execute(db);
  const names = rows.map(({ name }) => name);
  if (names.length === 0 || names.includes('kysely_migration')) return;
  const some = names.slice(0, 3).join(', ') + (names.length > 3 ? ', ...' : '');
  throw new ConfigError(
    `${location} contains tables of another program (${some}). Use an empty database, for example one made with \`createdb\``,
  );
}
