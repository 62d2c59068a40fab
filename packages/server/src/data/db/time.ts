import { type Expression, sql } from 'kysely';
import { isPostgres } from './dialect.js';
import type { Queryable } from './open.js';

/** Milliseconds since 1970: a number, or an expression that the database evaluates. */
export type Time = number | Expression<number>;

/** The time of the statement rather than of each row, so that indexes can be used. */
const databaseTime = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`;

/**
 * Now, on the one clock that all processes of the database share: the machine's for SQLite, PostgreSQL's own otherwise.
 * With separate clocks, a machine might consider another machine's leases expired.
 */
export const currentTime = (db: Queryable): Time => (isPostgres(db) ? databaseTime : Date.now());

/** The time plus `ms`, rounded to whole milliseconds. */
export function after(time: Time, ms: number): Time {
  return typeof time === 'number' ? time + Math.round(ms) : sql<number>`${time} + ${Math.round(ms)}::bigint`;
}

/** `currentTime` as a number; queries PostgreSQL for it. */
export async function readTime(db: Queryable): Promise<number> {
  if (!isPostgres(db)) return Date.now();
  const { rows } = await sql<{ now: number }>`select ${databaseTime} as now`.execute(db);
  return rows[0]!.now;
}
