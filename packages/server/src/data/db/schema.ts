import { sql } from 'kysely';
import { type Db, kindOf } from './database.js';
import { migrations } from './migrations.js';
import { sqlite } from './sqlite.js';
import { openSqlite } from './sqlite-connection.js';

// The list of migrations in a database says which ones ran, not what they did: before the first release, they may be
// edited. So the tables themselves are compared with those that the migrations of this version make.

/** How the schema of a database relates to that of this version. Only one that is `new` or `older` is migrated. */
export type SchemaState =
  | { relation: 'new' | 'older' | 'current' | 'newer' }
  /** Another program uses the database. */
  | { relation: 'foreign'; tables: readonly string[] }
  /** Another build of gen3d made it. `difference` names a column, an index or a migration. */
  | { relation: 'unknown'; difference: string };

export async function readSchemaState(db: Db): Promise<SchemaState> {
  const items = await readItems(db);
  if (!items.some((item) => item.startsWith('kysely_migration.'))) {
    const tables = [...new Set(items.filter(isColumn).map(tableOf))].sort();
    return tables.length === 0 ? { relation: 'new' } : { relation: 'foreign', tables };
  }
  const applied = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  const state = schemaState(
    items,
    applied.rows.map(({ name }) => name),
  );
  // Another process may have migrated between the two queries.
  const isStale = state.relation === 'unknown' && String(await readItems(db)) !== String(items);
  return isStale ? readSchemaState(db) : state;
}

async function readItems(db: Db): Promise<string[]> {
  const { rows } = await sql<{ item: string }>`${sql.raw(kindOf(db).schema)} order by item`.execute(db);
  return rows.map(({ item }) => item);
}

/**
 * @param items what the query `schema` of the database's kind found
 * @param applied the names of the migrations that ran, in their order
 */
export function schemaState(items: readonly string[], applied: readonly string[]): SchemaState {
  const known = Object.keys(migrations);
  const common = Math.min(known.length, applied.length);
  const other = applied.slice(0, common).find((name, index) => name !== known[index]);
  if (other !== undefined) return { relation: 'unknown', difference: `with the migration ${other}` };
  if (applied.length > known.length) return { relation: 'newer' };
  const difference = differenceFrom(schemaAfter(applied.length), items);
  if (difference !== undefined) return { relation: 'unknown', difference };
  if (applied.length === 0) return { relation: 'new' };
  return { relation: applied.length < known.length ? 'older' : 'current' };
}

const schemas = new Map<number, readonly string[]>();

/** Returns the schema that the first migrations make. Each check of readiness asks for it. */
function schemaAfter(count: number): readonly string[] {
  const schema = schemas.get(count) ?? makeSchema(count);
  schemas.set(count, schema);
  return schema;
}

/** Runs the first migrations on an empty database in memory. */
function makeSchema(count: number): readonly string[] {
  const scratch = openSqlite(':memory:', { busyTimeoutMs: 0 });
  try {
    for (const statement of Object.values(migrations).slice(0, count).flat()) scratch.exec(statement);
    return scratch.prepare<[], string>(sqlite.schema).pluck().all();
  } finally {
    scratch.close();
  }
}

/** Finds a column or an index that is missing, or a column that is too many in one of the expected tables. */
function differenceFrom(expected: readonly string[], found: readonly string[]): string | undefined {
  const missing = expected.find((item) => !found.includes(item));
  if (missing !== undefined) return `without ${missing}`;
  const tables = new Set(expected.map(tableOf));
  const extra = found.find((item) => tables.has(tableOf(item)) && isColumn(item) && !expected.includes(item));
  return extra === undefined ? undefined : `with ${extra}`;
}

const isColumn = (item: string) => !item.startsWith('index ');
const tableOf = (item: string) => item.slice(0, item.indexOf('.'));
