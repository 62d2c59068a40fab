import { type Compilable, type CompiledQuery, type DialectAdapter, isExpression } from 'kysely';
import type { Queryable } from './open.js';

type Build<Values extends readonly unknown[], Row> = (db: Queryable, ...values: Values) => Compilable<Row>;

/**
 * A query that is built once for a dialect and then only given its values: for the queries of every request and every
 * claim, where building takes longer than the database's answer. Returns the first row.
 *
 * `build` must put each value into the query as it is: it sees stand-ins for them. A value that is an expression is part of
 * the query, which is built once for that expression: so give it the same object each time, as `currentTime` does.
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

interface Built<Values, Row> {
  query: CompiledQuery<Row>;
  fill: (values: Values) => unknown[];
}

function builtOnce<Values extends readonly unknown[], Row>(build: Build<Values, Row>) {
  const kept = new WeakMap<DialectAdapter, WeakMap<object, Map<string, Built<Values, Row>>>>();
  return (db: Queryable, values: Values): CompiledQuery<Row> => {
    // What a database and its transactions have in common.
    const { adapter } = db.getExecutor();
    const expressions = new Set<object>(values.filter((value) => isExpression(value)));
    if (expressions.size > 1) return build(db, ...values).compile();
    const [key = adapter] = expressions;
    let ofAdapter = kept.get(adapter);
    if (!ofAdapter) {
      ofAdapter = new WeakMap();
      kept.set(adapter, ofAdapter);
    }
    // One expression may stand in several places, as the time does in the row of a job that has failed already.
    const places = expressions.size === 0 ? '' : values.map((value) => (isExpression(value) ? 'e' : 'v')).join('');
    const ofPlaces = ofAdapter.get(key) ?? new Map<string, Built<Values, Row>>();
    ofAdapter.set(key, ofPlaces);
    const known = ofPlaces.get(places) ?? withStandIns(build, db, values);
    ofPlaces.set(places, known);
    return { ...known.query, parameters: known.fill(values) };
  };
}

function withStandIns<Values extends readonly unknown[], Row>(
  build: Build<Values, Row>,
  db: Queryable,
  values: Values,
): Built<Values, Row> {
  const standIns = values.map((value, index) => (isExpression(value) ? value : `value ${index}`));
  const query = build(db, ...(standIns as unknown as Values)).compile();
  const unused = standIns.filter((standIn) => !isExpression(standIn) && !query.parameters.includes(standIn));
  if (unused.length > 0) throw new Error(`a prepared query changed its ${unused.join(', ')}: ${query.sql}`);
  const order = query.parameters.map((parameter) => standIns.indexOf(parameter as string));
  return {
    query,
    fill: (given) => query.parameters.map((own, at) => (order[at] === -1 ? own : given[order[at]!])),
  };
}
