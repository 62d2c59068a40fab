import { ConfigError } from '../../base/errors.js';
import { isPostgres } from '../db/dialect.js';
import type { Db } from '../db/open.js';
import { withoutPassword } from '../db/postgres.js';

/** @throws {ConfigError} if a copy into this database has begun and not ended: a server would take the half for the whole */
export async function requireWholeImport(db: Db, location: string): Promise<void> {
  if (!isPostgres(db)) return;
  const open = await db
    .selectFrom('import_from_sqlite')
    .select('id')
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  if (!open) return;
  throw new ConfigError(
    `${withoutPassword(location)} is only half filled by \`gen3d admin migrate-to\`: run that once more to its end, then start servers`,
  );
}
