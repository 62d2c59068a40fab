import type { Logger } from 'pino';
import { decodeTime } from 'ulid';
import { dayMs, isoTime } from '../../base/time.js';
import type { Db } from '../db/open.js';
import { readTime } from '../db/time.js';

/** A clock that moved further than this since the last deletion of old records is doubted. */
const maxStepMs = 3 * dayMs;
/**
 * The clock of a machine that was switched off for long is trusted after this. Until then its operator can correct the
 * clock.
 */
const doubtMs = dayMs;

/**
 * The time by which old records may be deleted: the database's, where that has a clock of its own. Undefined while it is
 * doubted, because it jumped by days since the last deletion: a machine whose clock is 90 days ahead would delete every
 * record. It is trusted again once it is back, or has run for another day.
 */
export async function retentionTime(db: Db, log: Logger, read = () => readTime(db)): Promise<number | undefined> {
  const now = await read();
  const kept = await db.selectFrom('clean_up').select(['last_at', 'doubted_at']).executeTakeFirst();
  const last = kept?.last_at ?? (await newestJob(db)) ?? now;
  const doubted = kept?.doubted_at ?? null;
  const isSteady = Math.abs(now - last) <= maxStepMs || (doubted !== null && now - doubted >= doubtMs);
  const since = isSteady ? null : doubted === null || now < doubted ? now : doubted;
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
      'the clock has moved by days since old records were last deleted, so none are deleted for a day: check the date of this machine, or of the PostgreSQL server',
    );
  }
  return undefined;
}

/** When it was created. Undefined where there are no jobs. */
async function newestJob(db: Db): Promise<number | undefined> {
  const row = await db.selectFrom('jobs').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return row && decodeTime(row.id);
}
