import { type Compilable, type CompiledQuery, type Expression, type QueryResult, type RawBuilder, sql } from 'kysely';
import { type DatabaseKind, kindOf, type Queryable } from './database.js';

/** Stands for a value that each execution gives. */
class Parameter {
  constructor(readonly name: PropertyKey) {}
}

/**
 * Builds a query once per kind of database instead of for each request. Building and compiling a query of one row takes
 * longer than SQLite needs to answer it. A query with an expression among its values is built each time, for example
 * on PostgreSQL, which evaluates the current time itself.
 *
 * @param build makes the query, with `parameter(name)` in place of each value that differs between executions. A
 *   query that depends on which values are given is built once for each set of names
 * @example
 * const nameOf = compiledOnce((db, parameter: Parameters<{ id: string }>) =>
 *   db.selectFrom('accounts').select('name').where('id', '=', parameter('id')),
 * );
 * const { rows } = await nameOf(db, { id });
 */
export function compiledOnce<Values extends object, Row>(
  build: (db: Queryable, parameter: Parameters<Values>, given: readonly (keyof Values)[]) => Compilable<Row>,
): (db: Queryable, values: Values) => Promise<QueryResult<Row>> {
  const queries = new Map<DatabaseKind, Map<string, CompiledQuery<Row>>>();
  return (db, values) => {
    const given = Object.keys(values) as (keyof Values)[];
    if (given.some((name) => isExpression(values[name]))) {
      const parameter = ((name) => sql`${values[name]}`) as Parameters<Values>;
      return db.executeQuery(build(db, parameter, given).compile());
    }
    const kind = kindOf(db);
    const ofKind = queries.get(kind) ?? new Map<string, CompiledQuery<Row>>();
    queries.set(kind, ofKind);
    const names = given.join();
    const query = ofKind.get(names) ?? build(db, (name) => sql`${new Parameter(name)}`, given).compile();
    ofKind.set(names, query);
    const parameters = query.parameters.map((value) =>
      value instanceof Parameter ? values[value.name as keyof Values] : value,
    );
    return db.executeQuery<Row>({ ...query, parameters });
  };
}

/** Makes the row of an insert out of the values that are given. */
export const rowOf = <Values extends object>(parameter: Parameters<Values>, given: readonly (keyof Values)[]): Values =>
  Object.fromEntries(given.map((name) => [name, parameter(name)])) as unknown as Values;

type Plain<Value> = Exclude<Value, Expression<unknown>>;

export type Parameters<Values> = <Name extends keyof Values>(name: Name) => RawBuilder<Plain<Values[Name]>>;

const isExpression = (value: unknown): value is Expression<unknown> =>
  typeof value === 'object' && value !== null && 'toOperationNode' in value;
