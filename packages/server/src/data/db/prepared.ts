import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { type DatabaseKind, kindOf, type Queryable } from './database.js';

/** Stands for a value that each execution gives. */
class Parameter {
  constructor(readonly name: PropertyKey) {}
}

/**
 * Builds a query once per kind of database instead of for each request. Building and compiling a query of one row takes
 * longer than SQLite needs to answer it.
 *
 * @param build makes the query, with `parameter(name)` in the place of each value that differs between executions
 * @example
 * const nameOf = prepared((db, parameter: Parameters<{ id: string }>) =>
 *   db.selectFrom('accounts').select('name').where('id', '=', parameter('id')),
 * );
 * const [account] = await nameOf(db, { id });
 */
export function prepared<Values extends object, Row>(
  build: (db: Queryable, parameter: Parameters<Values>) => Compilable<Row>,
): (db: Queryable, values: Values) => Promise<Row[]> {
  const queries = new Map<DatabaseKind, CompiledQuery<Row>>();
  return async (db, values) => {
    const kind = kindOf(db);
    const query = queries.get(kind) ?? build(db, (name) => sql`${new Parameter(name)}`).compile();
    queries.set(kind, query);
    const parameters = query.parameters.map((given) =>
      given instanceof Parameter ? values[given.name as keyof Values] : given,
    );
    return (await db.executeQuery<Row>({ ...query, parameters })).rows;
  };
}

export type Parameters<Values> = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>;
