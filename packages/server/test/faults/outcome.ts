import { isTerminal, type Task, type TaskUpdatedEvent } from '@gen3d/schema';
import type { Selectable } from 'kysely';
import { expect } from 'vitest';
import type { Db } from '../../src/data/db/database.js';
import type { JobRow, Tables } from '../../src/data/db/tables.js';
import { maxAttempts } from '../../src/data/jobs/lifecycle.js';
import type { Delivered } from './receiver.js';

export type State = Pick<Task, 'status' | 'progress'>;

const order: Record<Task['status'], number> = {
  PENDING: 0,
  QUEUED: 1,
  IN_PROGRESS: 2,
  SUCCEEDED: 3,
  FAILED: 3,
  CANCELED: 3,
};
const isStepBack = (before: State, after: State) =>
  order[after.status] < order[before.status] ||
  after.progress < before.progress ||
  (isTerminal(before.status) && after.status !== before.status);

/** Describes each state that is behind the one before it. */
export const stepsBack = (states: readonly State[]): string[] =>
  states.flatMap((after, i) => {
    const before = states[i - 1];
    if (!before || !isStepBack(before, after)) return [];
    return [`${before.status} ${before.progress} -> ${after.status} ${after.progress}`];
  });

/** Whether a file is complete, judged by its format. */
export const isWholeGlb = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'glTF' && bytes.readUInt32LE(8) === bytes.length;

/** Whether a file is complete, judged by its format. */
export const isWholeJpeg = (bytes: Buffer): boolean =>
  bytes.toString('hex', 0, 2) === 'ffd8' && bytes.toString('hex', bytes.length - 2) === 'ffd9';

/** How all jobs ended, by the database and by the delivered events. */
export interface Outcome {
  jobs: JobRow[];
  finished: JobRow[];
  succeeded: JobRow[];
  /** Jobs whose last event was delivered. */
  reported: JobRow[];
  charges: Selectable<Tables['ledger']>[];
  /** Events that still wait for delivery, and dead letters. */
  undelivered: string[];
  /** The first delivery of each event. */
  firsts: Map<string, Delivered>;
  received: readonly Delivered[];
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort();

const eventsOf = ({ firsts }: Pick<Outcome, 'firsts'>, id: string): TaskUpdatedEvent[] =>
  [...firsts.values()].flatMap(({ event }) => (event.event === 'task.updated' && event.task_id === id ? [event] : []));

export async function readOutcome(db: Db, received: readonly Delivered[]): Promise<Outcome> {
  const jobs = await db.selectFrom('jobs').selectAll().execute();
  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute();
  const undelivered = db.selectFrom('deliveries').select('event_id').where('state', 'in', ['waiting', 'dead']);
  const events = await undelivered.execute();
  const firsts = new Map<string, Delivered>();
  for (const one of received) if (!firsts.has(one.event.event_id)) firsts.set(one.event.event_id, one);
  const isReported = ({ id, status }: JobRow) =>
    isTerminal(status) && eventsOf({ firsts }, id).at(-1)?.status === status;
  return {
    jobs,
    finished: jobs.filter(({ finished_at }) => finished_at !== null),
    succeeded: jobs.filter(({ status }) => status === 'SUCCEEDED'),
    reported: jobs.filter(isReported),
    charges,
    undelivered: events.map(({ event_id }) => event_id),
    firsts,
    received,
  };
}

/** A line with the counts, for the test's output. */
export function summaryOf({ jobs, finished, succeeded, charges, reported, firsts, received }: Outcome): string {
  const outOfAttempts = jobs.filter(({ error_code }) => error_code === 'internal_error').length;
  const attempts = [1, 2, 3].map((n) => finished.filter(({ attempt }) => attempt === n).length);
  return (
    `${finished.length} finished (${succeeded.length} SUCCEEDED, ${outOfAttempts} out of attempts), ` +
    `${charges.length} charged, ${reported.length} final events delivered; ` +
    `${firsts.size} events in ${received.length} deliveries; jobs by attempts ${attempts.join('/')}`
  );
}

/**
 * Expects that each accepted job ended once, its last event was delivered, and it was charged once if it succeeded. Of a
 * deleted job, only its charge may be left.
 */
export function expectOneEndEach(
  outcome: Outcome,
  accepted: Iterable<string>,
  rateOf: (instance: string | null) => number,
  deleted: ReadonlySet<string> = new Set(),
): void {
  const { jobs, finished, succeeded, reported, charges, undelivered, firsts, received } = outcome;
  // Nothing is lost: the jobs are the accepted ones, all have ended, and their last events were delivered.
  expect(idsOf(jobs)).toEqual([...accepted].filter((id) => !deleted.has(id)).sort());
  expect(idsOf(finished)).toEqual(idsOf(jobs));
  expect(idsOf(reported)).toEqual(idsOf(jobs));
  expect(undelivered).toEqual([]);
  // Nothing is done twice.
  const charged = charges.map(({ job_id }) => job_id ?? '').sort();
  expect(charged.filter((id) => !deleted.has(id))).toEqual(idsOf(succeeded));
  expect(charged).toEqual([...new Set(charged)]);
  expect(succeeded.length).toBeGreaterThan(0);
  for (const { amount_microusd, inference_ms, instance } of charges) {
    expect(inference_ms).toBeGreaterThan(0);
    expect(amount_microusd).toBe(-Math.round(inference_ms! * rateOf(instance) * 1_000));
  }
  // Every delivery of an event has the same body.
  for (const { event, body } of received) expect(body.equals(firsts.get(event.event_id)!.body)).toBe(true);
  // A valid job fails only after its last attempt.
  for (const { error_code, attempt } of jobs) if (error_code === 'internal_error') expect(attempt).toBe(maxAttempts);
  // No status or progress decreases.
  expect(jobs.flatMap(({ id }) => stepsBack(eventsOf(outcome, id)))).toEqual([]);
}

/** The sum of the charges, in millionths of a dollar. */
export const totalCharges = ({ charges }: Outcome): number =>
  charges.reduce((sum, { amount_microusd }) => sum - amount_microusd, 0);
