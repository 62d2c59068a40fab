import { type Compilable, type CompiledQuery, type DialectAdapter, isExpression } from 'kysely';
import type { Queryable } from './open.js';

type Build<Values extends readonly unknown[], Row> = (db: Queryable, ...values: Values) => Compilable<Row>;

/**
 * A query that is built once for a dialect and then only given its values: for the queries of every request, where
 * building takes longer than SQLite's answer. Returns the first row.
 *
 * `build` must put each value into the query as it is: it sees stand-ins for them. A value that is an expression, such as
 * the database's time, makes a query of its own, which is built as usual.
 */
export function prepared<Values extends readonly unknown[], Row>(
  build: Build<Values, Row>,
): (db: Queryable, ...values: Values) => Promise<Row | undefined> {
  const queryWith = builtOnce(build);
  return async (db, ...values) => (await db.executeQuery(queryWith(db, values))).rows[0];
}

/** `prepared` for a query of any number of rows. */
export function preparedRows<Values extends readonly unknown[], Row>(
  build: Build<Values, Row>,
): (db: Queryable, ...values: Values) => Promise<Row[]> {
  const queryWith = builtOnce(build);
  return async (db, ...values) => (await db.executeQuery(queryWith(db, values))).rows;
}

function builtOnce<Values extends readonly unknown[], Row>(build: Build<Values, Row>) {
  const kept = new WeakMap<DialectAdapter, { query: CompiledQuery<Row>; fill: (values: Values) => unknown[] }>();
  return (db: Queryable, values: Values): CompiledQuery<Row> => {
    if (values.some(isExpression)) return build(db, ...values).compile();
    // What a database and its transactions have in common.
    const { adapter } = db.getExecutor();
    let known = kept.get(adapter);
    if (!known) {
      const standIns: string[] = values.map((_, index) => `value ${index}`);
      const query = build(db, ...(standIns as unknown as Values)).compile();
      const unused = standIns.filter((standIn) => !query.parameters.includes(standIn));
      if (unused.length > 0) throw new Error(`a prepared query changed its ${unused.join(', ')}: ${query.sql}`);
      const order = query.parameters.map((parameter) => standIns.indexOf(parameter as string));
      const fill = (given: Values) => query.parameters.map((own, at) => (order[at] === -1 ? own : given[order[at]!]));
      known = { query, fill };
      kept.set(adapter, known);
    }
    return { ...known.query, parameters: known.fill(values) };
  };
}
