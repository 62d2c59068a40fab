import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { AssetStore } from '../data/assets/asset-store.js';
import type { Db } from '../data/db/database.js';
import { currentTime } from '../data/db/time.js';
import { isUnavailable } from '../data/db/unavailable.js';
import type { InputStore } from '../data/inputs/input-store.js';
import { eraseDeletedAccounts, finishDeletions, forgetDeletions } from '../data/jobs/deletion.js';
import { outcomeOfJob } from '../data/jobs/job-store.js';
import { reap } from '../data/jobs/lifecycle.js';
import { deleteOldJobs, retentionTime } from '../data/jobs/retention.js';
import { needsInput } from '../data/jobs/retry.js';
import { sweepRunners } from '../data/runners/registry.js';
import { deleteOldEvents, expireEvents, limitEvents } from '../data/webhooks/event-retention.js';

const reapEveryMs = 5_000;
const limitEveryMs = 60 * 1_000;
const finishEveryMs = 60 * 1_000;
const cleanEveryMs = 60 * 60 * 1_000;
/** Minimum age of files to sweep: the database may not refer to a newer file yet. */
const strayMs = 60 * 60 * 1_000;
/** Rows of crashed runners are kept for this long. They stop counting as alive much earlier. */
const keptRunnerMs = 60 * 60 * 1_000;

/**
 * Fails the jobs that are out of attempts every few seconds, bounds the events and removes files of deleted jobs every
 * minute, and deletes what has expired every hour. Returns a function that stops the timers,
 * without waiting for a running step.
 */
export function startHousekeeping(
  { db, inputs, assets }: { db: Db; inputs: InputStore; assets: AssetStore },
  { keepPhotosDays }: Pick<Config, 'keepPhotosDays'>,
  log: Logger,
): () => void {
  let isStopped = false;
  const clean = async () => {
    const now = await retentionTime(db, log);
    if (now === undefined) return;
    // The clock of the disk, which is usually this machine's, decides the age of a file.
    const strayBefore = Math.min(now, Date.now()) - strayMs;
    await eachStep({
      jobs: async () => {
        const deleted = await deleteOldJobs(db, now);
        if (deleted > 0) log.info({ deleted }, 'deleted job records past their retention time');
      },
      overdueEvents: () => expireEvents(db, now),
      events: () => deleteOldEvents(db, now),
      runners: () => sweepRunners(db, currentTime(db), keptRunnerMs),
      inputs: () => inputs.sweep(strayBefore, (jobId) => needsInput(db, jobId, keepPhotosDays)),
      assets: async () => {
        await assets.sweep(strayBefore, (jobId) => outcomeOfJob(db, jobId));
        // Afterwards, because the sweep keeps the files of jobs that it does not know, however long no server ran.
        await forgetDeletions(db, now);
      },
    });
  };
  const failed = (error: unknown, step?: string) => {
    // An unavailable database is already logged. After a stop, the database is closed. The next start repeats the step.
    if (!isStopped && !isUnavailable(error)) log.error({ step, err: error }, 'housekeeping failed');
  };
  /** Runs the remaining steps after one fails. */
  const eachStep = async (steps: Record<string, () => Promise<void>>) => {
    for (const [step, run] of Object.entries(steps)) {
      if (isStopped) return;
      await run().catch((error: unknown) => failed(error, step));
    }
  };
  const regularly = (task: () => Promise<unknown>, everyMs: number) => {
    const run = () => task().catch((error: unknown) => failed(error));
    void run();
    return setInterval(run, everyMs);
  };
  const timers = [
    regularly(async () => {
      const count = await reap(db, currentTime(db));
      if (count > 0) log.warn({ count }, 'failed jobs that are out of attempts');
    }, reapEveryMs),
    regularly(() => limitEvents(db, currentTime(db)), limitEveryMs),
    regularly(async () => {
      await eraseDeletedAccounts(db, currentTime(db));
      await finishDeletions(db, { inputs, assets });
    }, finishEveryMs),
    regularly(clean, cleanEveryMs),
  ];
  return () => {
    isStopped = true;
    for (const timer of timers) clearInterval(timer);
  };
}
