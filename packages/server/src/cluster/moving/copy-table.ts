import { sql } from 'kysely';
import type { Db } from '../../data/db/database.js';
import { storable } from '../postgres/connections.js';
import { type CopiedTable, copiedTables, type Key, type Row, type Source } from './source.js';

/** A batch is small, so that an interruption loses little work. */
const batchSize = 1_000;

/**
 * Makes a table of PostgreSQL equal to the source's, batch by batch in the order of the primary key. Writes only rows that
 * are missing or differ, so it can be interrupted at any time and run again, even if the source changed in between. `onRows`
 * receives the number of rows that are equal on both sides so far.
 */
export async function copyTable(
  source: Source,
  target: Db,
  table: CopiedTable,
  onRows: (count: number) => void = () => {},
): Promise<void> {
  const column = copiedTables[table];
  let last: Key | undefined;
  for (let total = 0; ; ) {
    const rows = source.rowsAfter(table, last, batchSize).map(asStored);
    const isLast = rows.length < batchSize;
    const end = isLast ? undefined : rows.at(-1)?.[column];
    await makeEqual(target, table, rows, await rowsBetween(target, table, last, end as Key | undefined));
    total += rows.length;
    onRows(total);
    if (isLast) return;
    last = end as Key;
  }
}

const asStored = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, storable(value) as Row[string]]));

async function rowsBetween(db: Db, table: CopiedTable, after: Key | undefined, upTo: Key | undefined): Promise<Row[]> {
  const column = sql.ref(copiedTables[table]);
  const from = after === undefined ? sql`true` : sql`${column} > ${after}`;
  const to = upTo === undefined ? sql`true` : sql`${column} <= ${upTo}`;
  const { rows } = await sql<Row>`select * from ${sql.table(table)} where ${from} and ${to}`.execute(db);
  return rows;
}

async function makeEqual(db: Db, table: CopiedTable, wanted: readonly Row[], there: readonly Row[]): Promise<void> {
  const name = copiedTables[table];
  const column = sql.ref(name);
  const found = new Map(there.map((row) => [row[name], row]));
  const missing = wanted.filter((row) => !isSame(row, found.get(row[name] ?? null)));
  for (const row of wanted) found.delete(row[name] ?? null);
  if (found.size > 0) {
    await sql`delete from ${sql.table(table)} where ${column} = any(${[...found.keys()]})`.execute(db);
  }
  if (missing.length === 0) return;
  const columns = Object.keys(missing[0]!);
  const changes = columns.filter((one) => one !== name).map((one) => sql`${sql.ref(one)} = excluded.${sql.ref(one)}`);
  const names = sql.join(columns.map((one) => sql.ref(one)));
  // One JSON parameter: PostgreSQL allows 65,535, and building a statement with that many takes longer than running it.
  await sql`
    insert into ${sql.table(table)} (${names})
    select ${names} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(missing)}::json)
    on conflict (${column}) do update set ${sql.join(changes)}`.execute(db);
}

const isSame = (row: Row, other: Row | undefined): boolean =>
  other !== undefined && Object.entries(row).every(([name, value]) => other[name] === value);
