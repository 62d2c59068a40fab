import { isTerminal, type TaskUpdatedEvent } from '@gen3d/schema';
import type { Selectable } from 'kysely';
import { expect } from 'vitest';
import type { Db } from '../../src/data/db/open.js';
import type { JobRow, Tables } from '../../src/data/db/tables.js';
import { maxAttempts } from '../../src/data/jobs/lifecycle.js';
import type { Delivered } from './receiver.js';
import { stepsBack } from './steps-back.js';

/** What has become of all jobs, by the database and by what the receiver was told. */
export interface Outcome {
  jobs: JobRow[];
  finished: JobRow[];
  succeeded: JobRow[];
  /** Those whose last event was delivered. */
  told: JobRow[];
  charges: Selectable<Tables['ledger']>[];
  /** Events that wait for their delivery still, or were given up. */
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
  const events = await db.selectFrom('outbox').select('event_id').execute();
  const firsts = new Map<string, Delivered>();
  for (const one of received) if (!firsts.has(one.event.event_id)) firsts.set(one.event.event_id, one);
  const isTold = ({ id, status }: JobRow) => isTerminal(status) && eventsOf({ firsts }, id).at(-1)?.status === status;
  return {
    jobs,
    finished: jobs.filter(({ finished_at }) => finished_at !== null),
    succeeded: jobs.filter(({ status }) => status === 'SUCCEEDED'),
    told: jobs.filter(isTold),
    charges,
    undelivered: events.map(({ event_id }) => event_id),
    firsts,
    received,
  };
}

/** The counts, for whoever reads the log of a test. */
export function inWords({ jobs, finished, succeeded, charges, told, firsts, received }: Outcome): string {
  const outOfAttempts = jobs.filter(({ error_code }) => error_code === 'internal_error').length;
  const attempts = [1, 2, 3].map((n) => finished.filter(({ attempt }) => attempt === n).length);
  return (
    `${finished.length} finished (${succeeded.length} SUCCEEDED, ${outOfAttempts} out of attempts), ` +
    `${charges.length} charged, ${told.length} final events delivered; ` +
    `${firsts.size} events in ${received.length} deliveries; jobs by attempts ${attempts.join('/')}`
  );
}

/** Fails the test unless each accepted job ended once, was told so, and was charged once if it succeeded. */
export function expectOneEndEach(
  outcome: Outcome,
  accepted: Iterable<string>,
  rateOf: (instance: string | null) => number,
): void {
  const { jobs, finished, succeeded, told, charges, undelivered, firsts, received } = outcome;
  // Nothing lost: what was answered 202 is what there is, and all of it has ended and was told so.
  expect(idsOf(jobs)).toEqual([...accepted].sort());
  expect(idsOf(finished)).toEqual(idsOf(jobs));
  expect(idsOf(told)).toEqual(idsOf(jobs));
  expect(undelivered).toEqual([]);
  // Nothing twice.
  expect(charges.map(({ job_id }) => job_id).sort()).toEqual(idsOf(succeeded));
  expect(succeeded.length).toBeGreaterThan(0);
  for (const { amount_microusd, inference_ms, instance } of charges) {
    expect(inference_ms).toBeGreaterThan(0);
    expect(amount_microusd).toBe(-Math.round(inference_ms! * rateOf(instance) * 1_000));
  }
  // Each event is one body, however often it was delivered.
  for (const { event, body } of received) expect(body.equals(firsts.get(event.event_id)!.body)).toBe(true);
  // A job that is not to blame fails only after its last attempt.
  for (const { error_code, attempt } of jobs) if (error_code === 'internal_error') expect(attempt).toBe(maxAttempts);
  // Nothing goes back.
  expect(jobs.flatMap(({ id }) => stepsBack(eventsOf(outcome, id)))).toEqual([]);
}

/** What the jobs have cost, in millionths of a dollar. */
export const spentOn = ({ charges }: Outcome): number =>
  charges.reduce((sum, { amount_microusd }) => sum - amount_microusd, 0);
