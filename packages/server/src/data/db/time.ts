import { type Expression, sql } from 'kysely';
import { isPostgres } from './dialect.js';
import type { Queryable } from './open.js';

/** Milliseconds since 1970: a number, or an expression that the database works out. */
export type Time = number | Expression<number>;

/** The time of the statement and not of each row, so that an index can be searched for it. */
const databaseTime = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`;

/**
 * Now, on the one clock that all who use the database share: SQLite's users share a machine, PostgreSQL's ask PostgreSQL.
 * Machines whose clocks differ would otherwise take each other's leases for run out.
 */
export const currentTime = (db: Queryable): Time => (isPostgres(db) ? databaseTime : Date.now());

/** `ms` milliseconds after a time, to the whole millisecond. */
export function after(time: Time, ms: number): Time {
  return typeof time === 'number' ? time + Math.round(ms) : sql<number>`${time} + ${Math.round(ms)}::bigint`;
}

/** `currentTime` as a number, by asking the database where that has the clock. */
export async function readTime(db: Queryable): Promise<number> {
  if (!isPostgres(db)) return Date.now();
  const { rows } = await sql<{ now: number }>`select ${databaseTime} as now`.execute(db);
  return rows[0]!.now;
}
