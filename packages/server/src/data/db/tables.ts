import type { JobStatus, TaskErrorCode } from '@gen3d/schema';
import type { Generated, Insertable, Selectable } from 'kysely';

/**
 * Types the tables as SQLite and PostgreSQL both store them. Ids are ULIDs as text, times are milliseconds since 1970,
 * money is whole millionths of a dollar (`MicroUsd`) to avoid rounding errors, flags are 0 or 1.
 */
export interface Tables {
  accounts: {
    id: string;
    name: string;
    /** 1 for the account behind the public test key. */
    sandbox: number;
    /** Sum of the account's ledger entries, kept in the same transaction as each entry. */
    balance_microusd: number;
    /** The highest turn among its jobs whose inference has started; see jobs/turn.ts. */
    turn: Generated<number>;
    /** The last day on which the account created a job, and how many it created then; see accounts/quotas.ts. */
    jobs_day: Generated<number>;
    jobs_of_day: Generated<number>;
    /**
     * An upper bound on the account's number of unfinished jobs. Each new job increments it; only at the limit is it
     * set to that number. So creating a job seldom has to count them, and no change of a job has to update it.
     */
    open_at_most: Generated<number>;
    /** The time in the id of its last event, or 0; see webhooks/events.ts. */
    last_event_at: Generated<number>;
    created_at: number;
    /** Its row remains for the ledger, without a name. */
    deleted_at: number | null;
    /** 1 from its deletion until its jobs are deleted, too. */
    erasing: Generated<number>;
  };
  api_keys: {
    id: string;
    account_id: string;
    /** The user's name for the key, to tell keys apart. */
    name: string | null;
    /** HMAC-SHA256 of the key under the server key, hexadecimal. The key itself is not stored. */
    hash: string;
    /** The key's last four characters, by which people recognize it. */
    ending: string;
    created_at: number;
    /** Updated at most once a minute; see `KeyUse` in accounts/api-keys.ts. */
    last_used_at: number | null;
    revoked_at: number | null;
  };
  /** Append-only: rows are never changed or removed. */
  ledger: {
    id: string;
    account_id: string;
    amount_microusd: number;
    kind: 'credit' | 'charge';
    /** Unique among charges, so a job is charged at most once, even after a crash. */
    job_id: string | null;
    instance: string | null;
    inference_ms: number | null;
    /** Unique among the account's credits, so that a repeated command credits once. Null if none was given. */
    idempotency_key: string | null;
    created_at: number;
  };
  jobs: JobTable;
  /** Jobs that were deleted; see jobs/deletion.ts. */
  deleted_jobs: {
    job_id: string;
    account_id: string;
    deleted_at: number;
    /** 1 until its files are removed. */
    pending: number;
    had_model: number;
  };
  runners: RunnerRow;
  /** The rates in the settings of the server that was started last, if any. See accounts/rates.ts. */
  rates: {
    instance: string;
    usd_per_second: number;
  };
  webhook_endpoints: {
    account_id: string;
    url: string;
    /** Encrypted under the server key; see webhooks/endpoints.ts. */
    sealed_secret: string;
    /** 1 if it receives only the events of jobs that have ended. */
    final_only: Generated<number>;
    /** All deliveries since then have failed; null after a success. */
    failing_since: number | null;
    /** No delivery is made before then; see webhooks/pauses.ts. */
    paused_until: number | null;
    created_at: number;
  };
  /** Changes of the account's jobs, and pings; see webhooks/events.ts. */
  events: EventTable;
  /** The events to post to an endpoint; see webhooks/deliveries.ts. Deleting an event deletes its delivery. */
  deliveries: DeliveryTable;
  /** Sign-in links and sessions of the dashboard; see accounts/dashboard-tokens.ts. */
  dashboard_tokens: {
    /** HMAC-SHA256 of the token under the server key, hexadecimal. */
    hash: string;
    kind: 'link' | 'session';
    /** The API key that signed in; revoking it ends the session. Null for the operator. */
    key_id: string | null;
    created_at: number;
    expires_at: number;
  };
  /** At most one row: the last deletion of old records; see jobs/retention.ts. */
  clean_up: {
    id: number;
    last_at: number;
    /** When the clock was first found to have jumped since `last_at`; null if it has not. */
    doubted_at: number | null;
  };
}

/** A runner process; see runners/registry.ts. `jobs.runner` names the one that holds a job. */
export interface RunnerRow {
  id: string;
  host: string;
  pid: number;
  /** gen3d's version. */
  version: string;
  /** The serving instance whose rate applies to its inferences. */
  instance: string;
  bundle: string;
  device: string;
  /** Name of the graphics adapter, if any. */
  adapter: string | null;
  /** When its machine stopped claiming jobs because of an outage, or null. See work/stage-outage.ts. */
  paused_since: number | null;
  started_at: number;
  heartbeat_at: number;
  /** Without another heartbeat, the runner counts as terminated from then on. */
  alive_until: number;
}

interface JobTable {
  /** Sorts by creation; the list and the queue rely on that. */
  id: string;
  account_id: string;
  /** Position in the queue, before `id`; see jobs/turn.ts. */
  turn: Generated<number>;
  /** As requested; the task object always says `image-to-3d`. */
  type: string;
  /** See `storedKey`. */
  idempotency_key: string | null;
  /** The first job for the photo, if this one is a retry. Of a job's retries, at most one has not failed. */
  retry_of: string | null;
  /** The sides of its photos beside the front, as a JSON array. Null if it has one photo. See jobs/photos.ts. */
  views: string | null;
  /**
   * The URLs of remote images as JSON, by side, while the job is open or can be tried again. Null if no image is
   * remote: those that came with the request are stored under the job's id (see inputs/input-store.ts).
   */
  image_urls: string | null;
  status: JobStatus;
  progress: number;
  error_code: TaskErrorCode | null;
  error_message: string | null;
  /** Asset keys: paths below the assets URL. */
  model_key: string | null;
  thumbnail_key: string | null;
  created_at: number;
  finished_at: number | null;
  /** Number of claims in the current stage: preparation, then inference. */
  attempt: Generated<number>;
  /** Fences the writes of the machine that holds the lease: each one names this token. */
  lease_token: string | null;
  /** No process claims the job until then: it is being worked on, or pauses between attempts. */
  lease_expires_at: number | null;
  /** How long the lease or the pause lasts from its last renewal on. */
  lease_ms: number | null;
  /** The runner that holds the lease; for a preparation, the machine. */
  runner: string | null;
  /** 1 once the job is prepared: its stored images are then pixels, and runners claim it. */
  prepared: Generated<number>;
  /** The expected charge, which reduces the available balance until the job has finished. */
  reserved_microusd: Generated<number>;
  /** `StageTimes` as JSON: of the preparation, and of all stages once the job has succeeded. Null before. */
  stage_ms: string | null;
  /** Name of the bundle that made the model; null until the job has succeeded. */
  bundle: string | null;
  /** Codes of `warningMessages`, as a JSON array. Null until the job has succeeded. */
  warnings: string | null;
  /** `SamplerSettings` as JSON. Null if the request had none. */
  sampler: string | null;
  /** `JobOptions` as JSON. Null if the request had none that a bundle could pass on. */
  options: string | null;
  /** 1 if the current attempt took the job over from a runner whose lease expired. */
  taken_over: Generated<number>;
  /** Trace id of the request that created the job: 32 hexadecimal digits. */
  trace_id: string | null;
  /** A name that people see, usually the photo's file name. Null for jobs that were created without one. */
  label: string | null;
  /** The label as searches and sorting use it; see `foldLabel`. Empty without a label. */
  label_folded: Generated<string>;
  /** The last part of the URL of the model's public page; see jobs/public-pages.ts. Null without a page. */
  share_token: string | null;
}

interface EventTable {
  /** An account's ids grow in the order of its events. */
  event_id: string;
  account_id: string;
  event: 'task.updated' | 'ping';
  /** The job's state when the event was recorded. Null on a ping. */
  job_id: string | null;
  status: JobStatus | null;
  progress: number | null;
  error_code: string | null;
  error_message: string | null;
  model_key: string | null;
  thumbnail_key: string | null;
  created_at: number;
}

interface DeliveryTable {
  event_id: string;
  account_id: string;
  /** `dead`: a dead letter, whose retries all failed. `dropped`: its endpoint was deleted. */
  state: Generated<'waiting' | 'delivered' | 'dead' | 'dropped'>;
  /** Number of attempts whose outcome is known. */
  attempts: Generated<number>;
  /** When the next attempt may start. */
  due_at: number;
  lease_token: string | null;
  lease_expires_at: number | null;
  /** When it was delivered, dead or dropped. Null while it waits. */
  ended_at: number | null;
  /** Why it is not delivered, for people. Null before the first attempt, and once it is delivered. */
  failure: string | null;
  /** The last attempt. Null before the first. */
  url: string | null;
  /** JSON, with the signature, which does not reveal the secret. */
  request_headers: string | null;
  /** Null without a response. */
  response_status: number | null;
  response_body: string | null;
  started_at: number | null;
  took_ms: number | null;
}

export type JobRow = Selectable<JobTable>;
export type EventRow = Selectable<EventTable>;
/** An event about a job. */
export type JobEventRow = EventRow & { job_id: string; status: JobStatus; progress: number };
export type DeliveryRow = Selectable<DeliveryTable>;
export type InsertableJob = Insertable<JobTable>;
