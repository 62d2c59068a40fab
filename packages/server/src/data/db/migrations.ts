const tables = [
  `create table accounts (
    id text primary key,
    name text not null,
    sandbox integer not null default 0,
    balance_microusd bigint not null default 0,
    turn bigint not null default 0,
    jobs_day bigint not null default 0,
    jobs_of_day bigint not null default 0,
    last_event_at bigint not null default 0,
    open_at_most bigint not null default 0,
    created_at bigint not null,
    deleted_at bigint,
    erasing integer not null default 0
  )`,
  `create table api_keys (
    id text primary key,
    account_id text not null references accounts (id),
    name text,
    hash text not null unique,
    ending text,
    created_at bigint not null,
    last_used_at bigint,
    revoked_at bigint
  )`,
  `create table ledger (
    id text primary key,
    account_id text not null references accounts (id),
    amount_microusd bigint not null,
    kind text not null check (kind in ('credit', 'charge')),
    job_id text, instance text, inference_ms bigint,
    idempotency_key text,
    created_at bigint not null
  )`,
  // The URLs are last, because they may fill pages that SQLite reads on the way to later columns.
  `create table jobs (
    id text primary key,
    account_id text not null references accounts (id),
    turn bigint not null default 0,
    type text not null,
    idempotency_key text,
    retry_of text,
    status text not null check (status in ('PENDING', 'QUEUED', 'IN_PROGRESS', 'SUCCEEDED', 'FAILED', 'CANCELED')),
    progress integer not null check (progress between 0 and 100),
    error_code text, error_message text,
    model_key text, thumbnail_key text,
    created_at bigint not null, finished_at bigint,
    attempt integer not null default 0,
    lease_token text, lease_expires_at bigint, lease_ms bigint, runner text,
    prepared integer not null default 0,
    reserved_microusd bigint not null default 0,
    stage_ms text, bundle text, warnings text, sampler text, options text,
    taken_over integer not null default 0,
    trace_id text,
    label text,
    label_folded text not null default '',
    share_token text,
    views text,
    image_urls text
  )`,
  `create table runners (
    id text primary key,
    host text not null, pid integer not null,
    version text not null, instance text not null, bundle text not null,
    device text not null, adapter text, paused_since bigint,
    started_at bigint not null, heartbeat_at bigint not null, alive_until bigint not null
  )`,
  'create table rates (instance text primary key, usd_per_second double precision not null)',
  `create table webhook_endpoints (
    account_id text primary key references accounts (id),
    url text not null,
    sealed_secret text not null,
    final_only integer not null default 0,
    failing_since bigint, paused_until bigint,
    created_at bigint not null
  )`,
  `create table events (
    event_id text primary key,
    account_id text not null references accounts (id),
    event text not null check (event in ('task.updated', 'ping')),
    job_id text, status text, progress integer,
    error_code text, error_message text,
    model_key text, thumbnail_key text,
    created_at bigint not null
  )`,
  `create table deliveries (
    event_id text primary key references events (event_id) on delete cascade,
    account_id text not null references accounts (id),
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead', 'dropped')),
    attempts integer not null default 0,
    due_at bigint not null,
    lease_token text, lease_expires_at bigint,
    ended_at bigint,
    failure text,
    url text, request_headers text,
    response_status integer, response_body text,
    started_at bigint, took_ms integer
  )`,
  `create table deleted_jobs (
    job_id text primary key,
    account_id text not null references accounts (id),
    deleted_at bigint not null,
    pending integer not null,
    had_model integer not null
  )`,
  `create table dashboard_tokens (
    hash text primary key,
    kind text not null check (kind in ('link', 'session')),
    key_id text references api_keys (id),
    created_at bigint not null, expires_at bigint not null
  )`,
  `create table clean_up (
    id integer primary key check (id = 1), last_at bigint not null, doubted_at bigint
  )`,
];

const indexes = [
  // Prevents two servers that start at the same time from creating two sandboxes.
  'create unique index accounts_one_sandbox on accounts (sandbox) where sandbox = 1',
  'create index accounts_turn on accounts (turn)',
  'create index accounts_erasing on accounts (id) where erasing = 1',
  'create index accounts_in_list on accounts (sandbox, id)',
  'create index accounts_by_name on accounts (name)',
  'create index accounts_below_zero on accounts (id) where balance_microusd < 0',
  "create unique index ledger_one_charge_per_job on ledger (job_id) where kind = 'charge'",
  `create unique index ledger_idempotency on ledger (account_id, idempotency_key)
    where idempotency_key is not null`,
  'create index api_keys_of_account on api_keys (account_id, id)',
  'create index ledger_account on ledger (account_id, id)',
  'create unique index jobs_idempotency on jobs (account_id, idempotency_key) where idempotency_key is not null',
  'create index jobs_of_account on jobs (account_id, id)',
  'create index jobs_of_account_by_status on jobs (account_id, status, id)',
  // Of a job's retries, at most one has not failed.
  `create unique index jobs_retry on jobs (retry_of)
    where retry_of is not null and status not in ('FAILED', 'CANCELED')`,
  // The queue: only open jobs, so finished ones do not slow it down.
  'create index jobs_open on jobs (id) where finished_at is null',
  'create index jobs_open_of_account on jobs (account_id, turn, reserved_microusd) where finished_at is null',
  'create index jobs_open_by_status on jobs (status, created_at) where finished_at is null',
  // Include the account, so that jobs of excluded accounts are skipped without reading their rows.
  'create index jobs_to_prepare on jobs (turn, id, account_id) where finished_at is null and prepared = 0',
  'create index jobs_to_infer on jobs (turn, id, account_id) where finished_at is null and prepared = 1',
  'create index jobs_finished on jobs (finished_at, status) where finished_at is not null',
  'create unique index jobs_shared on jobs (share_token) where share_token is not null',
  // Finds the job that a runner holds, however many wait.
  'create index jobs_held on jobs (runner) where runner is not null',
  'create index events_of_account on events (account_id, event_id)',
  'create index events_of_job on events (job_id, event_id)',
  // Deliveries are selected account by account, so that the backlog of one receiver is not read.
  "create index deliveries_waiting on deliveries (account_id, due_at, event_id) where state = 'waiting'",
  'create index deliveries_of_account on deliveries (account_id, event_id, state)',
  'create index deliveries_by_state on deliveries (state, ended_at)',
  'create index deleted_jobs_pending on deleted_jobs (job_id) where pending = 1',
  'create index deleted_jobs_without_model on deleted_jobs (deleted_at) where had_model = 0',
];

/**
 * The statements of each migration. Forward only: a migration that people may have run is never edited, and
 * migrations.test.ts fails if one is. A change of the tables is a new entry, with names that sort in the order they
 * run. tables.ts describes the columns. Types are SQLite's; `DatabaseKind.define` translates them.
 */
export const migrations: Record<string, readonly string[]> = {
  '0001_first_release': [...tables, ...indexes],
};
