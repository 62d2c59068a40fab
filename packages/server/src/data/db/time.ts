import { type Expression, sql } from 'kysely';
import { kindOf, type Queryable } from './database.js';

/** Milliseconds since 1970: a number, or an expression that the database evaluates. */
export type Time = number | Expression<number>;

/**
 * Now, on the one clock that all processes of the database share. With separate clocks, a machine might consider another
 * machine's leases expired.
 */
export const currentTime = (db: Queryable): Time => kindOf(db).now();

/** The time plus `ms`, rounded to whole milliseconds. */
export function after(time: Time, ms: number): Time {
  return typeof time === 'number' ? time + Math.round(ms) : sql<number>`${time} + ${sql.lit(Math.round(ms))}`;
}

/** `currentTime` as a number; may query the database for it. */
export const readTime = (db: Queryable): Promise<number> => kindOf(db).readTime(db);
