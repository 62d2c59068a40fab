import { sql, type Transaction } from 'kysely';
import { AdminError } from '../../base/errors.js';
import type { Tables } from '../../data/db/tables.js';
import { storable } from '../postgres/connections.js';
import { type CopiedTable, copiedTableNames, copiedTables, type Row, type Source } from './source.js';

/** Rows in a batch. It is sent as one parameter, of which memory holds a few copies. */
const batchSize = 1_000;

/** The number of rows of a table, the same on both sides. */
export interface CopiedRows {
  table: CopiedTable;
  source: number;
  target: number;
}

/**
 * Copies all tables to PostgreSQL in the order of their references, and compares the numbers of their rows.
 * @throws {AdminError} if they differ
 */
export async function copyTables(source: Source, target: Transaction<Tables>): Promise<CopiedRows[]> {
  const copied: CopiedRows[] = [];
  for (const table of copiedTableNames) {
    await copyTable(source, target, table);
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(target);
    copied.push({ table, source: source.count(table), target: rows[0]?.count ?? 0 });
    // The query planner has no statistics of the copied rows yet.
    await sql`analyze ${sql.table(table)}`.execute(target);
  }
  const different = copied.filter(({ source, target }) => source !== target);
  if (different.length === 0) return copied;
  const counts = different.map(({ table, source, target }) => `${table} has ${target} rows instead of ${source}`);
  throw new AdminError(
    `The copy is incomplete: ${counts.join(', ')}. Another process writes to the database. Stop it, then run this again`,
  );
}

/** Copies the rows of a table in batches, in the order of the primary key. */
async function copyTable(source: Source, target: Transaction<Tables>, table: CopiedTable): Promise<void> {
  for (let rows = source.rowsAfter(table, undefined, batchSize); rows.length > 0; ) {
    await insert(target, table, rows.map(asStored));
    rows = source.rowsAfter(table, rows.at(-1)?.[copiedTables[table]] as string, batchSize);
  }
}

const asStored = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, storable(value) as Row[string]]));

/** Passes the rows as one JSON parameter: PostgreSQL allows 65,535, and a statement with that many is slow to build. */
async function insert(target: Transaction<Tables>, table: CopiedTable, rows: readonly Row[]): Promise<void> {
  const names = sql.join(Object.keys(rows[0]!).map((name) => sql.ref(name)));
  await sql`
    insert into ${sql.table(table)} (${names})
    select ${names} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::json)`.execute(
    target,
  );
}
