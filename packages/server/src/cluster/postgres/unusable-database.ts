// Why a PostgreSQL database cannot be used: another program's tables, or missing privileges.
import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { ConfigError } from '../../base/errors.js';
import type { Tables } from '../../data/db/tables.js';

/** PostgreSQL's insufficient_privilege, and invalid_schema_name, which it reports for a schema without USAGE. */
const codes: ReadonlySet<unknown> = new Set(['42501', '3F000']);

export const isInsufficientPrivilege = (error: unknown): error is Error =>
  error instanceof pg.DatabaseError && codes.has(error.code);

/** Names the user, the missing privilege and the statements that grant it. */
export async function insufficientPrivilege(db: Kysely<Tables>, location: string, error: Error): Promise<ConfigError> {
  const { rows } = await sql<Record<'user' | 'database' | 'schema', string>>`
    select quote_ident(current_user) as user, quote_ident(current_database()) as database,
      quote_ident(coalesce(current_schema(), 'public')) as schema`.execute(db);
  const { user, database, schema } = rows[0] ?? { user: 'gen3d', database: 'gen3d', schema: 'public' };
  const inSchema = /schema/.test(error.message);
  const action = inSchema ? `create tables in the schema ${schema} of ${location}` : `use the tables in ${location}`;
  const statements = inSchema
    ? `ALTER DATABASE ${database} OWNER TO ${user}; or, if others use the database too: GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${user};`
    : `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${user}; or connect as the owner of the tables`;
  return new ConfigError(
    `The user ${user} may not ${action} (${error.message}). Ask an administrator to run in that database: ${statements}`,
    { cause: error },
  );
}

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
