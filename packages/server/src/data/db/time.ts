import { type Expression, sql } from 'kysely';
import { kindOf, type Queryable } from './database.js';

/** Milliseconds since 1970: a number, or an expression that the database evaluates. */
export type Time = number | Expression<number>;

/**
 * Returns the time on the one clock that all processes of the database share. With separate clocks, a machine might
 * consider another machine's leases expired.
 */
export const currentTime = (db: Queryable): Time => kindOf(db).now();

/** Adds `ms` to a time, rounded to whole milliseconds. */
export function after(time: Time, ms: number): Time {
  return typeof time === 'number' ? time + Math.round(ms) : sql<number>`${time} + ${sql.lit(Math.round(ms))}`;
}

/**
 * Whether a stored time is still ahead. One that is more than `maxMs` ahead was written while the clock was ahead, and
 * has passed too: a clock that was wrong for a minute must not lock, pause or keep anything for days. Every time that
 * something ends at is compared here; `npm run lint` finds others.
 *
 * @param maxMs the longest distance at which a correct clock writes the time, with some tolerance
 */
export const isAhead = (column: string, now: Time, maxMs: number | Expression<unknown>) =>
  sql<boolean>`(${sql.ref(column)} > ${now} and ${sql.ref(column)} <= cast(${now} as bigint) + ${maxMs})`;

/** Whether no process holds the row at a time: it has no lease, or its lease has ended. */
export const isUnleased = (now: Time, length: number | Expression<unknown>) =>
  sql<boolean>`(lease_expires_at is null or not ${isAhead('lease_expires_at', now, sql`2 * ${length}`)})`;

/** Returns `currentTime` as a number, which may require a query. */
export async function readTime(db: Queryable): Promise<number> {
  const now = currentTime(db);
  if (typeof now === 'number') return now;
  const { rows } = await sql<{ now: number }>`select ${now} as now`.execute(db);
  return rows[0]!.now;
}
