import type { Logger } from 'pino';
import { decodeTime } from 'ulid';
import { dayMs, isoTime } from '../../base/time.js';
import type { Db } from '../db/database.js';
import { readTime } from '../db/time.js';

/** A clock that moved further than this since the last deletion of old records is not trusted. */
const maxStepMs = 3 * dayMs;
/** A jumped clock is trusted after this, since the machine may have been off. Until then the operator can correct it. */
const doubtMs = dayMs;

/**
 * Returns the current time on the database's clock, for deleting old records. Undefined while the clock is not trusted,
 * because it has jumped by days since the last deletion: a clock that is 90 days ahead would delete every record. It is
 * trusted again once it is back, or has run for another day.
 */
export async function retentionTime(db: Db, log: Logger, read = () => readTime(db)): Promise<number | undefined> {
  const now = await read();
  const kept = await db.selectFrom('clean_up').select(['last_at', 'doubted_at']).executeTakeFirst();
  const last = kept?.last_at ?? (await newestJobTime(db)) ?? now;
  const doubtedAt = kept?.doubted_at ?? null;
  const isSteady = Math.abs(now - last) <= maxStepMs || (doubtedAt !== null && now - doubtedAt >= doubtMs);
  const since = isSteady ? null : doubtedAt === null || now < doubtedAt ? now : doubtedAt;
  const next = { last_at: isSteady ? now : last, doubted_at: since };
  await db
    .insertInto('clean_up')
    .values({ id: 1, ...next })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(next))
    .execute();
  if (since === null) return now;
  if (since === now) {
    log.warn(
      { now: isoTime(now), last: isoTime(last), believedAt: isoTime(since + doubtMs) },
      'the clock has jumped by days since old records were last deleted, so none are deleted for a day; check the date of this machine, or of the PostgreSQL server',
    );
  }
  return undefined;
}

/** Returns when the newest job was created. Undefined without jobs. */
async function newestJobTime(db: Db): Promise<number | undefined> {
  const row = await db.selectFrom('jobs').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return row && decodeTime(row.id);
}
