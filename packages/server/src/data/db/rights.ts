import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { ConfigError } from '../../base/errors.js';
import type { Tables } from './tables.js';

/** PostgreSQL: insufficient_privilege, and invalid_schema_name, as it calls a schema that a user may not even look into. */
const codes: ReadonlySet<unknown> = new Set(['42501', '3F000']);

export const isWantOfRights = (error: unknown): error is Error =>
  error instanceof pg.DatabaseError && codes.has(error.code);

/** Who lacks what in the database `place`, and the statements that give it. */
export async function wantOfRights(db: Kysely<Tables>, place: string, error: Error): Promise<ConfigError> {
  const { rows } = await sql<Record<'user' | 'database' | 'schema', string>>`
    select quote_ident(current_user) as user, quote_ident(current_database()) as database,
      quote_ident(coalesce(current_schema(), 'public')) as schema`.execute(db);
  const { user, database, schema } = rows[0] ?? { user: 'gen3d', database: 'gen3d', schema: 'public' };
  const inSchema = /schema/.test(error.message);
  const what = inSchema ? `make tables in the schema ${schema} of ${place}` : `use the tables in ${place}`;
  const statements = inSchema
    ? `ALTER DATABASE ${database} OWNER TO ${user}; or, where others use it too: GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${user};`
    : `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${user}; or connect as the user who made them`;
  return new ConfigError(
    `The user ${user} may not ${what} (${error.message}). Let an administrator run in that database: ${statements}`,
    { cause: error },
  );
}
