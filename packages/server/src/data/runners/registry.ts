import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db, Queryable } from '../db/database.js';
import type { RunnerRow } from '../db/tables.js';
import { after, currentTime, isAhead, type Time } from '../db/time.js';
import { failureReason, isUnavailable } from '../db/unavailable.js';

/** A runner's own description. */
export type RunnerDescription = Omit<RunnerRow, 'started_at' | 'heartbeat_at' | 'alive_until'>;

export interface LiveRunner extends RunnerRow {
  /** The job in inference, or null. */
  job_id: string | null;
}

/** Records that the runner is alive for the next `aliveMs`. */
export async function announce(db: Db, runner: RunnerDescription, aliveMs: number, now: Time): Promise<void> {
  const { instance, device, adapter, paused_since } = runner;
  // These change when a device fails and the CPU takes over, and in an outage.
  const current = { instance, device, adapter, paused_since, heartbeat_at: now, alive_until: after(now, aliveMs) };
  // Inserted again if it was swept while its machine slept.
  await db
    .insertInto('runners')
    .values({ ...runner, started_at: now, ...current })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(current))
    .execute();
}

/** Removes a runner that terminated or is about to. */
export async function forget(db: Db, runner: string): Promise<void> {
  await db.deleteFrom('runners').where('id', '=', runner).execute();
}

/**
 * Announces the runner now, and then four times per `aliveMs`. Resolves after the first attempt with a function that
 * stops this and removes the runner. An unavailable database does not stop the runner.
 */
export async function keepAnnounced(
  db: Db,
  id: string,
  describe: () => Omit<RunnerDescription, 'id'>,
  aliveMs: number,
  log: Logger,
): Promise<() => Promise<void>> {
  let running: Promise<void> = Promise.resolve();
  const beat = () => {
    running = running
      .then(() => announce(db, { id, ...describe() }, aliveMs, currentTime(db)))
      .catch((error: unknown) => {
        // Outages are logged elsewhere.
        if (!isUnavailable(error)) log.warn({ err: error }, 'cannot announce this runner');
      });
  };
  beat();
  await running;
  const timer = setInterval(beat, aliveMs / 4);
  return async () => {
    clearInterval(timer);
    await running;
    await forget(db, id).catch((error: unknown) =>
      log.warn(failureReason(error), 'cannot remove this runner from the database'),
    );
  };
}

/** Heartbeats follow each other faster than a lease expires, so a runner is alive for at most that long. */
const isAlive = (now: Time) => isAhead('alive_until', now, sql`2 * (alive_until - heartbeat_at)`);

const alive = (db: Queryable, now: Time) => db.selectFrom('runners').where(isAlive(now));

/** Lists the runners of all machines, oldest first. */
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

export async function anyRunner(db: Db, now: Time): Promise<boolean> {
  return (await alive(db, now).select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** Returns `ok`, or what keeps new jobs from being processed. */
export async function runnerState(db: Db, now: Time): Promise<string> {
  const runners = await alive(db, now).select('paused_since').execute();
  if (runners.length === 0) return 'no active runner on any machine';
  const isAnyActive = runners.some(({ paused_since }) => paused_since === null);
  return isAnyActive ? 'ok' : 'all runners are paused by an outage that is named in the log of their machine';
}

/** Deletes the runners that are not alive, except those that were within the last `keptMs`. */
export async function sweepRunners(db: Db, now: Time, keptMs: number): Promise<void> {
  await db
    .deleteFrom('runners')
    .where((eb) => eb.not(isAlive(now)))
    .where((eb) => eb.not(isAhead('alive_until', after(now, -keptMs), keptMs)))
    .execute();
}
