import type { Compilable, CompiledQuery } from 'kysely';
import type { Queryable } from './open.js';

/**
 * A query that is built once for a database and then only given its values: for the queries of every request, where
 * building takes longer than SQLite's answer.
 *
 * `build` must put its values into the query as they are: it sees stand-ins for them.
 */
export function prepared<Values extends readonly string[], Row>(
  build: (db: Queryable, ...values: Values) => Compilable<Row>,
): (db: Queryable, ...values: Values) => Promise<Row | undefined> {
  const kept = new WeakMap<Queryable, { query: CompiledQuery<Row>; order: number[] }>();
  return async (db, ...values) => {
    let known = kept.get(db);
    if (!known) {
      const standIns = values.map((_, index) => `value ${index}`);
      const query = build(db, ...(standIns as unknown as Values)).compile();
      const order = query.parameters.map((parameter) => standIns.indexOf(String(parameter)));
      if (order.includes(-1)) throw new Error(`a prepared query changed its values: ${query.sql}`);
      known = { query, order };
      kept.set(db, known);
    }
    const query: CompiledQuery<Row> = { ...known.query, parameters: known.order.map((index) => values[index]) };
    const { rows } = await db.executeQuery<Row>(query);
    return rows[0];
  };
}
