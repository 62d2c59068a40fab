import type { Logger } from 'pino';
import type { Db } from './db/open.js';
import type { InputStore } from './inputs/store.js';
import { reap } from './jobs/lifecycle.js';
import { deleteOldJobs } from './jobs/retention.js';
import { deleteOldDeadLetters } from './webhooks/dead-letters.js';

const reapEveryMs = 1_000;
const cleanEveryMs = 60 * 60 * 1_000;
/** An input file is younger than its job's row for a moment; after this its row must be there. */
const strayInputMs = 60 * 60 * 1_000;

/** Reaps every second and cleans up every hour, from now on. Returns a function that stops it. */
export function startHousekeeping({ db, inputs }: { db: Db; inputs: InputStore }, log: Logger): () => void {
  const isOpen = async (jobId: string) => {
    const row = await db
      .selectFrom('jobs')
      .select('id')
      .where('id', '=', jobId)
      .where('finished_at', 'is', null)
      .executeTakeFirst();
    return row !== undefined;
  };
  const clean = async () => {
    const now = Date.now();
    const deleted = await deleteOldJobs(db, now);
    if (deleted > 0) log.info({ deleted }, 'deleted job records past their keeping time');
    await deleteOldDeadLetters(db, now);
    await inputs.sweep(now - strayInputMs, isOpen);
  };
  const regularly = (task: () => Promise<unknown>, everyMs: number) => {
    const run = () => task().catch((error: unknown) => log.error({ err: error }, 'housekeeping failed'));
    void run();
    return setInterval(run, everyMs);
  };
  const timers = [
    regularly(async () => {
      const count = await reap(db, Date.now());
      if (count > 0) log.warn({ count }, 'failed jobs that broke off too often');
    }, reapEveryMs),
    regularly(clean, cleanEveryMs),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
