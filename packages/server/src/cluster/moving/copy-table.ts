import { sql, type Transaction } from 'kysely';
import type { Tables } from '../../data/db/tables.js';
import { storable } from '../postgres/connections.js';
import { type CopiedTable, copiedTables, type Row, type Source } from './source.js';

/** Rows in a batch. It is sent as one parameter, of which memory holds a few copies. */
const batchSize = 1_000;

/**
 * Copies the rows of a table to PostgreSQL, in batches in the order of the primary key. `onRows` receives the number of
 * rows copied so far.
 */
export async function copyTable(
  source: Source,
  target: Transaction<Tables>,
  table: CopiedTable,
  onRows: (count: number) => void = () => {},
): Promise<void> {
  let last: string | undefined;
  for (let total = 0; ; ) {
    const rows = source.rowsAfter(table, last, batchSize);
    if (rows.length === 0) return;
    await insert(target, table, rows.map(asStored));
    total += rows.length;
    onRows(total);
    last = rows.at(-1)?.[copiedTables[table]] as string;
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
