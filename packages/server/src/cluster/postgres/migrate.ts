import { sql } from 'kysely';
import { ConfigError } from '../../base/errors.js';
import type { Db } from '../../data/db/database.js';
import { migrate } from '../../data/db/open.js';
import type { OpenOptions } from '../../data/installation/open-stores.js';
import { isInsufficientPrivilege, isUnencrypted, withoutPassword } from './connections.js';

/** Warns of an unencrypted connection, and names the statements that grant a missing privilege. @see migrate */
export async function migratePostgres(db: Db, url: string, { onlyNew = false, log }: OpenOptions = {}): Promise<void> {
  if (isUnencrypted(url)) {
    log?.warn(
      'the connection to PostgreSQL on another machine is not encrypted; add ?sslmode=verify-full to its URL, see "TLS to PostgreSQL" in docs/operations/deployment.md',
    );
  }
  const name = withoutPassword(url);
  await migrate(db, name, { onlyNew }).catch(async (error: Error) => {
    throw isInsufficientPrivilege(error.cause) ? await insufficientPrivilege(db, name, error.cause) : error;
  });
}

/** Names the user, the missing privilege and the statements that grant it. */
async function insufficientPrivilege(db: Db, location: string, error: Error): Promise<ConfigError> {
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
