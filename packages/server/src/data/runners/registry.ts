import type { Logger } from 'pino';
import type { Db, Queryable } from '../db/open.js';
import type { RunnerRow } from '../db/tables.js';
import { after, currentTime, type Time } from '../db/time.js';
import { isUnavailable, whyFailed } from '../db/unavailable.js';

/** What a runner says of itself. */
export type RunnerDescription = Omit<RunnerRow, 'started_at' | 'heartbeat_at' | 'alive_until'>;

export interface LiveRunner extends RunnerRow {
  /** The job in its inference, or null. */
  job_id: string | null;
}

/** Tells everybody who uses the database that the runner works, for `aliveMs` from now on. */
export async function announce(db: Db, runner: RunnerDescription, aliveMs: number, now: Time): Promise<void> {
  const { instance, device, adapter } = runner;
  // A device may fail, and the CPU take over.
  const current = { instance, device, adapter, heartbeat_at: now, alive_until: after(now, aliveMs) };
  // Inserted again when it was swept away while its machine slept.
  await db
    .insertInto('runners')
    .values({ ...runner, started_at: now, ...current })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(current))
    .execute();
}

/** The runner is gone, or about to go. */
export async function forget(db: Db, runner: string): Promise<void> {
  await db.deleteFrom('runners').where('id', '=', runner).execute();
}

/**
 * Announces the runner now, and again four times before it would count as gone. Resolves, once it has been tried, with what
 * ends that and takes the runner out. A database that is away keeps nobody from working.
 */
export async function keepAnnounced(
  db: Db,
  id: string,
  describe: () => Omit<RunnerDescription, 'id'>,
  aliveMs: number,
  log: Logger,
): Promise<() => Promise<void>> {
  let underWay: Promise<void> = Promise.resolve();
  const beat = () => {
    underWay = underWay
      .then(() => announce(db, { id, ...describe() }, aliveMs, currentTime(db)))
      .catch((error: unknown) => {
        // That the database is away has been logged.
        if (!isUnavailable(error)) log.warn({ err: error }, 'cannot tell that this runner works');
      });
  };
  beat();
  await underWay;
  const timer = setInterval(beat, aliveMs / 4);
  return async () => {
    clearInterval(timer);
    await underWay;
    await forget(db, id).catch((error: unknown) => log.warn(whyFailed(error), 'cannot take this runner out'));
  };
}

const alive = (db: Queryable, now: Time) => db.selectFrom('runners').where('alive_until', '>', now);

/** The runners of all machines, the longest at work first. */
export async function liveRunners(db: Db, now: Time): Promise<LiveRunner[]> {
  return alive(db, now)
    .selectAll()
    .select((eb) =>
      eb
        .selectFrom('jobs')
        .select('jobs.id')
        .whereRef('jobs.runner', '=', 'runners.id')
        .where('jobs.status', '=', 'IN_PROGRESS')
        .where('jobs.finished_at', 'is', null)
        .limit(1)
        .as('job_id'),
    )
    .orderBy('started_at')
    .orderBy('id')
    .execute();
}

/** Whether anybody works on jobs. */
export async function anyRunner(db: Db, now: Time): Promise<boolean> {
  return (await alive(db, now).select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** Deletes the runners that ended without a word before `time`. */
export async function sweepRunners(db: Db, time: Time): Promise<void> {
  await db.deleteFrom('runners').where('alive_until', '<', time).execute();
}
