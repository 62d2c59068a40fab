import type { JobStatus, TaskErrorCode } from '@gen3d/schema';
import type { Generated, Insertable, Selectable } from 'kysely';

/**
 * The tables, in types that SQLite and PostgreSQL both have. Ids are ULIDs as text, times are milliseconds since 1970,
 * money is whole millionths of a dollar (`MicroUsd`) so that no cent is lost to rounding, flags are 0 or 1.
 */
export interface Tables {
  accounts: {
    id: string;
    name: string;
    /** 1: the account behind the public test key. */
    sandbox: number;
    /** Sum of the account's ledger entries, kept in the same transaction as each entry. */
    balance_microusd: number;
    /** Of its jobs whose inference has started, the highest turn; see jobs/turn.ts. */
    turn: Generated<number>;
    created_at: number;
  };
  api_keys: {
    id: string;
    account_id: string;
    /** What it is for, in the words of whoever made it. */
    name: string | null;
    /** HMAC-SHA256 of the key under the server key, hexadecimal. The key itself is stored nowhere. */
    hash: string;
    created_at: number;
    /** To the minute; see accounts/key-use.ts. */
    last_used_at: number | null;
    revoked_at: number | null;
  };
  /** Append-only: rows are never changed or removed. */
  ledger: {
    id: string;
    account_id: string;
    amount_microusd: number;
    kind: 'credit' | 'charge';
    /** Unique among charges, so a job is charged at most once whatever crashes. */
    job_id: string | null;
    instance: string | null;
    inference_ms: number | null;
    created_at: number;
  };
  jobs: JobTable;
  runners: RunnerRow;
  /** What the last server to start was told to charge; none where it was told nothing. See accounts/rates.ts. */
  rates: {
    instance: string;
    usd_per_second: number;
  };
  webhook_endpoints: {
    account_id: string;
    url: string;
    /** Encrypted under the server key; see webhooks/secret-box.ts. */
    sealed_secret: string;
    created_at: number;
  };
  outbox: OutboxTable;
  /** Attempts at delivering events; see webhooks/delivery-log.ts. */
  webhook_deliveries: {
    id: string;
    account_id: string;
    event_id: string;
    event: 'task.updated' | 'ping';
    /** The job's state that the event told; null on a ping. */
    job_id: string | null;
    status: JobStatus | null;
    progress: number | null;
    event_created_at: number;
    url: string;
    /** JSON. */
    request_headers: string;
    request_body: string;
    /** Null when no answer came. */
    response_status: number | null;
    response_body: string | null;
    /** Null when the attempt succeeded. */
    failure: string | null;
    started_at: number;
    took_ms: number;
  };
  /** At most one row. */
  operator_password: {
    id: number;
    /** In the PHC string format; see dashboard/operator-password.ts. */
    hash: string;
  };
  /** What browsers sign in and stay signed in with; see dashboard/tokens.ts. */
  dashboard_tokens: {
    /** HMAC-SHA256 of the token under the server key, hexadecimal. */
    hash: string;
    kind: 'link' | 'session';
    /** The API key that signed in, with which the session ends; null for the operator. */
    key_id: string | null;
    created_at: number;
    expires_at: number;
  };
  /** One row, on PostgreSQL only: the key that its servers share. */
  server_key: {
    id: number;
    /** 64 hexadecimal digits, or null where every server is given it by its settings. */
    key: string | null;
    /** Tells the key from another without telling it. */
    fingerprint: string;
  };
  /** At most one row, on PostgreSQL only: where models and photos lie; see assets/location.ts. */
  asset_location: {
    id: number;
    /** Tells the place from every other; it lies there too. */
    mark: string;
    /** For people: as the server names it that put it here. */
    location: string;
  };
  /** At most one row, on PostgreSQL only: the SQLite installation that is or was copied into it; see moving/migrate-to.ts. */
  import_from_sqlite: {
    id: number;
    started_at: number;
    /** Null while a part may be missing: no server works on that. */
    finished_at: number | null;
  };
  /** At most one row: the last deletion of old records; see jobs/retention-clock.ts. */
  clean_up: {
    id: number;
    last_at: number;
    /** When the clock was first found to have jumped since then; null when it has not. */
    doubted_at: number | null;
  };
  /** One row per bucket, on PostgreSQL only: the token buckets that its servers share; see http/shared-bucket.ts. */
  rate_bucket: {
    id: number;
    tokens: number;
    /** How many tokens were given to whoever wrote the row. */
    granted: number;
    filled_at: number;
  };
}

/** A runner process; see runner/registry.ts. Which job it has in its hands, `jobs.runner` says. */
export interface RunnerRow {
  /** As in `jobs.runner`. */
  id: string;
  host: string;
  pid: number;
  /** Of gen3d. */
  version: string;
  /** What its inferences are charged as. */
  instance: string;
  bundle: string;
  device: string;
  /** Name of the graphics adapter, where there is one. */
  adapter: string | null;
  started_at: number;
  heartbeat_at: number;
  /** Without another heartbeat the runner counts as gone then. */
  alive_until: number;
}

interface JobTable {
  /** Sorts by creation: the list and the queue both rely on it. */
  id: string;
  account_id: string;
  /** Place in the queue, before `id`; see jobs/turn.ts. */
  turn: number;
  /** As requested; the task object always says `image-to-3d`. */
  type: string;
  idempotency_key: string | null;
  /** The remote photo's URL, or null when the photo's bytes are stored under the job's id (see inputs/store.ts). */
  image_url: string | null;
  status: JobStatus;
  progress: number;
  error_code: TaskErrorCode | null;
  error_message: string | null;
  /** Asset keys: paths below the assets URL. */
  model_key: string | null;
  thumbnail_key: string | null;
  created_at: number;
  finished_at: number | null;
  /** How many times the job was claimed for the stage that it is in: preparation, and after that inference. */
  attempt: number;
  /** The right to work on the job: every write of a runner or preparer names the token it was given. */
  lease_token: string | null;
  /** Until then, no process claims the job: one works on it, or the pause after an attempt has not passed. */
  lease_expires_at: number | null;
  /** The runner or preparer process that holds the lease. */
  runner: string | null;
  /** 1 once the job is prepared: from then on its stored input is what `normalizeImage` made, and runners claim it. */
  prepared: number;
  /** `StageTimes` as JSON: of the preparation, and once the job has succeeded of all stages. Null before. */
  stage_ms: string | null;
  /** Name of the bundle that made the model; null until the job has succeeded, and for jobs from before 0016. */
  bundle: string | null;
  /** 1 when the present attempt took the job from a runner that had let its lease run out. */
  taken_over: number;
  /** Of the request that made the job: 32 hexadecimal digits. Null for jobs from before it was kept. */
  trace_id: string | null;
}

interface OutboxTable {
  /** Order of the events; per job it is the order of the changes. */
  seq: Generated<number>;
  event_id: string;
  account_id: string;
  event: 'task.updated' | 'ping';
  /** The job's state when the event was recorded; null on a ping. */
  job_id: string | null;
  status: JobStatus | null;
  progress: number | null;
  error_code: string | null;
  error_message: string | null;
  model_key: string | null;
  thumbnail_key: string | null;
  created_at: number;
  /** Attempts whose outcome is known. */
  attempts: number;
  due_at: number;
  lease_token: string | null;
  lease_expires_at: number | null;
  last_failure: string | null;
  /** Set when the last retry failed: the event is a dead letter from then on. */
  dead_at: number | null;
  /** The job's. */
  trace_id: string | null;
}

export type JobRow = Selectable<JobTable>;
export type OutboxRow = Selectable<OutboxTable>;
export type NewOutboxRow = Insertable<OutboxTable>;
