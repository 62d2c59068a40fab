import type { Logger } from 'pino';
import type { AssetStore, Outcome } from './assets/store.js';
import type { Db } from './db/open.js';
import { after, currentTime } from './db/time.js';
import { isUnavailable } from './db/unavailable.js';
import type { InputStore } from './inputs/store.js';
import { reap } from './jobs/lifecycle.js';
import { deleteOldJobs } from './jobs/retention.js';
import { sweepRunners } from './runner/registry.js';
import { deleteOldDeadLetters } from './webhooks/dead-letters.js';
import { deleteOldDeliveries } from './webhooks/delivery-log.js';

const reapEveryMs = 1_000;
const cleanEveryMs = 60 * 60 * 1_000;
/** A file is younger than what the database says about it for a moment; after this the database has had its say. */
const strayMs = 60 * 60 * 1_000;
/** Runners that ended without a word have long been passed over by then. */
const keptRunnerMs = 60 * 60 * 1_000;

/** Reaps every second and cleans up every hour, from now on. Returns a function that stops it. */
export function startHousekeeping(
  { db, inputs, assets }: { db: Db; inputs: InputStore; assets: AssetStore },
  log: Logger,
): () => void {
  const outcomeOf = async (jobId: string): Promise<Outcome | undefined> => {
    const row = await db
      .selectFrom('jobs')
      .select(['finished_at', 'model_key'])
      .where('id', '=', jobId)
      .executeTakeFirst();
    return row && { finished: row.finished_at !== null, modelKey: row.model_key };
  };
  const isOpen = async (jobId: string) => (await outcomeOf(jobId))?.finished === false;
  const clean = async () => {
    const now = Date.now();
    const deleted = await deleteOldJobs(db, now);
    if (deleted > 0) log.info({ deleted }, 'deleted job records past their keeping time');
    await deleteOldDeadLetters(db, now);
    await deleteOldDeliveries(db, now);
    await sweepRunners(db, after(currentTime(db), -keptRunnerMs));
    await inputs.sweep(now - strayMs, isOpen);
    await assets.sweep(now - strayMs, outcomeOf);
  };
  const regularly = (task: () => Promise<unknown>, everyMs: number) => {
    const run = () =>
      task().catch((error: unknown) => {
        // That the database is away has been logged.
        if (!isUnavailable(error)) log.error({ err: error }, 'housekeeping failed');
      });
    void run();
    return setInterval(run, everyMs);
  };
  const timers = [
    regularly(async () => {
      const count = await reap(db, currentTime(db));
      if (count > 0) log.warn({ count }, 'failed jobs that broke off too often');
    }, reapEveryMs),
    regularly(clean, cleanEveryMs),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
