import type { Db, Queryable } from '../db/open.js';
import { prepared } from '../db/prepared.js';
import type { JobRow, NewOutboxRow, OutboxRow } from '../db/tables.js';
import { newUlid, randomToken } from '../ids.js';

type JobState = Pick<
  JobRow,
  'id' | 'account_id' | 'status' | 'progress' | 'error_code' | 'error_message' | 'model_key' | 'thumbnail_key'
>;

const blank = {
  job_id: null,
  status: null,
  progress: null,
  error_code: null,
  error_message: null,
  model_key: null,
  thumbnail_key: null,
  attempts: 0,
  lease_token: null,
  lease_expires_at: null,
  last_failure: null,
  dead_at: null,
} satisfies Partial<NewOutboxRow>;

const endpointOf = prepared((db, accountId: string) =>
  db.selectFrom('webhook_endpoints').select('account_id').where('account_id', '=', accountId),
);

const hasEndpoint = async (db: Queryable, accountId: string) => (await endpointOf(db, accountId)) !== undefined;

/**
 * Records that a job's status or progress changed, as the event that will be delivered. Must run in the transaction that
 * makes the change. Without an endpoint there is nobody to tell, and nothing is recorded.
 */
export async function recordTaskUpdated(trx: Queryable, job: JobState, now: number): Promise<void> {
  if (!(await hasEndpoint(trx, job.account_id))) return;
  const { id, account_id, status, progress, error_code, error_message, model_key, thumbnail_key } = job;
  await trx
    .insertInto('outbox')
    .values({
      ...blank,
      event_id: newUlid(),
      account_id,
      event: 'task.updated',
      job_id: id,
      status,
      progress,
      error_code,
      error_message,
      model_key,
      thumbnail_key,
      created_at: now,
      due_at: now,
    })
    .execute();
}

/** Queues one ping. Returns false when the account has no endpoint. */
export async function recordPing(db: Db, accountId: string, delayMs: number, now: number): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    if (!(await hasEndpoint(trx, accountId))) return false;
    await trx
      .insertInto('outbox')
      .values({
        ...blank,
        event_id: newUlid(),
        account_id: accountId,
        event: 'ping',
        created_at: now,
        due_at: now + delayMs,
      })
      .execute();
    return true;
  });
}

export interface DueQuery {
  now: number;
  /** How long the claimed deliveries are nobody else's. Longer than a delivery can take. */
  leaseMs: number;
  /** At most so many events in all, and `perAccount` of each account on top of `inFlight`. */
  limit: number;
  perAccount: number;
  /** Deliveries of each account that are already under way here. */
  inFlight: ReadonlyMap<string, number>;
}

/**
 * Claims deliveries that are due. A job's event waits until every earlier event of that job has had its first attempt, so
 * first attempts arrive in order; retries do not hold up what follows.
 */
export async function claimDue(db: Db, query: DueQuery): Promise<OutboxRow[]> {
  const { now, leaseMs, limit, perAccount, inFlight } = query;
  const full = [...inFlight].filter(([, count]) => count >= perAccount).map(([accountId]) => accountId);
  let due = db
    .selectFrom('outbox as o')
    .selectAll()
    .where('dead_at', 'is', null)
    .where('due_at', '<=', now)
    .where((eb) => eb.or([eb('lease_expires_at', 'is', null), eb('lease_expires_at', '<=', now)]))
    .where((eb) =>
      eb.or([
        eb('attempts', '>', 0),
        eb('job_id', 'is', null),
        eb.not(
          eb.exists(
            eb
              .selectFrom('outbox as earlier')
              .select('earlier.seq')
              .whereRef('earlier.job_id', '=', 'o.job_id')
              .whereRef('earlier.seq', '<', 'o.seq')
              .where('earlier.attempts', '=', 0)
              .where('earlier.dead_at', 'is', null),
          ),
        ),
      ]),
    );
  if (full.length > 0) due = due.where('account_id', 'not in', full);
  // Looked for outside the transaction: most of the time nothing is due and nobody has to wait for a lock.
  const candidates = await due.orderBy('due_at').orderBy('seq').limit(limit).execute();
  if (candidates.length === 0) return [];

  const taken = new Map(inFlight);
  const chosen = candidates.filter(({ account_id }) => {
    const count = taken.get(account_id) ?? 0;
    if (count >= perAccount) return false;
    taken.set(account_id, count + 1);
    return true;
  });
  const token = randomToken(22);
  return db
    .updateTable('outbox')
    .set({ lease_token: token, lease_expires_at: now + leaseMs })
    .where(
      'seq',
      'in',
      chosen.map(({ seq }) => seq),
    )
    .where((eb) => eb.or([eb('lease_expires_at', 'is', null), eb('lease_expires_at', '<=', now)]))
    .where('dead_at', 'is', null)
    .returningAll()
    .execute();
}

/** The delivery succeeded: the event has done its work. */
export async function settle(db: Db, { seq, lease_token }: OutboxRow): Promise<void> {
  await db.deleteFrom('outbox').where('seq', '=', seq).where('lease_token', '=', lease_token).execute();
}

/**
 * The delivery failed: it is due again at `retryAt`, or a dead letter when that is undefined. An event that a DELETE of the
 * endpoint has dropped meanwhile stays dropped.
 */
export async function postpone(
  db: Db,
  { seq, lease_token, attempts }: OutboxRow,
  failure: string,
  retryAt: number | undefined,
  now: number,
): Promise<void> {
  await db
    .updateTable('outbox')
    .set({
      attempts: attempts + 1,
      last_failure: failure,
      lease_token: null,
      lease_expires_at: null,
      ...(retryAt === undefined ? { dead_at: now } : { due_at: retryAt }),
    })
    .where('seq', '=', seq)
    .where('lease_token', '=', lease_token)
    .execute();
}

/** Drops everything still waiting for an account's endpoint. Dead letters stay, for an operator to look at. */
export async function dropWaiting(trx: Queryable, accountId: string): Promise<void> {
  await trx.deleteFrom('outbox').where('account_id', '=', accountId).where('dead_at', 'is', null).execute();
}
