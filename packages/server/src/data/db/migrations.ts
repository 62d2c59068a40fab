import { type Kysely, type Migration, sql } from 'kysely';
import { isPostgres } from './dialect.js';

/**
 * Forward only: a released migration is never edited and has no `down`. The next change is a new entry. Names sort in the
 * order they run.
 */
export const migrations: Record<string, Migration> = {
  '0001_first': { up: first },
  '0002_outbox_by_account': { up: outboxByAccount },
  '0003_shared_by_servers': { up: sharedByServers },
  '0004_dashboard_tokens': { up: dashboardTokens },
  '0005_stage_times': { up: stageTimes },
  '0006_named_keys': { up: namedKeys },
  '0007_webhook_deliveries': { up: webhookDeliveries },
  '0008_operator_password': { up: operatorPassword },
  '0009_seen_from_outside': { up: seenFromOutside },
  '0010_import_from_sqlite': { up: importFromSqlite },
  '0011_asset_location': { up: assetLocation },
  '0012_turns': { up: turns },
  '0013_preparation': { up: preparation },
  '0014_counts_and_buckets': { up: countsAndBuckets },
  '0015_clean_up': { up: cleanUp },
  '0016_bundle_of_job': { up: bundleOfJob },
  '0017_labels': { up: labels },
  '0018_key_endings': { up: keyEndings },
  '0019_webhook_listeners': { up: webhookListeners },
  '0020_gallery_indexes': { up: galleryIndexes },
};

async function first(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('sandbox', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('balance_microusd', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  // Prevents two servers that start at the same time from creating two sandboxes.
  await db.schema
    .createIndex('accounts_one_sandbox')
    .unique()
    .on('accounts')
    .column('sandbox')
    .where(sql.ref('sandbox'), '=', sql.lit(1))
    .execute();

  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute();

  await db.schema
    .createTable('ledger')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('amount_microusd', 'bigint', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('credit', 'charge')`))
    .addColumn('job_id', 'text')
    .addColumn('instance', 'text')
    .addColumn('inference_ms', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('ledger_one_charge_per_job')
    .unique()
    .on('ledger')
    .column('job_id')
    .where(sql.ref('kind'), '=', sql.lit('charge'))
    .execute();
  await db.schema.createIndex('ledger_account').on('ledger').columns(['account_id', 'id']).execute();

  await db.schema
    .createTable('jobs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text')
    .addColumn('image_url', 'text')
    .addColumn('status', 'text', (column) =>
      column.notNull().check(sql`status in ('PENDING', 'QUEUED', 'IN_PROGRESS', 'SUCCEEDED', 'FAILED', 'CANCELED')`),
    )
    .addColumn('progress', 'integer', (column) => column.notNull().check(sql`progress between 0 and 100`))
    .addColumn('error_code', 'text')
    .addColumn('error_message', 'text')
    .addColumn('model_key', 'text')
    .addColumn('thumbnail_key', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .addColumn('attempt', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('lease_token', 'text')
    .addColumn('lease_expires_at', 'bigint')
    .addColumn('runner', 'text')
    .addColumn('parked', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createIndex('jobs_idempotency')
    .unique()
    .on('jobs')
    .columns(['account_id', 'idempotency_key'])
    .where(sql.ref('idempotency_key'), 'is not', null)
    .execute();
  await db.schema.createIndex('jobs_of_account').on('jobs').columns(['account_id', 'id']).execute();
  await db.schema.createIndex('jobs_of_account_by_status').on('jobs').columns(['account_id', 'status', 'id']).execute();
  // The queue: only open jobs, so finished ones do not slow it down.
  await db.schema.createIndex('jobs_open').on('jobs').column('id').where(sql.ref('finished_at'), 'is', null).execute();

  await db.schema
    .createTable('webhook_endpoints')
    .addColumn('account_id', 'text', (column) => column.primaryKey().references('accounts.id'))
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('sealed_secret', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('outbox')
    .addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('event_id', 'text', (column) => column.notNull().unique())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('event', 'text', (column) => column.notNull().check(sql`event in ('task.updated', 'ping')`))
    .addColumn('job_id', 'text')
    .addColumn('status', 'text')
    .addColumn('progress', 'integer')
    .addColumn('error_code', 'text')
    .addColumn('error_message', 'text')
    .addColumn('model_key', 'text')
    .addColumn('thumbnail_key', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('lease_token', 'text')
    .addColumn('lease_expires_at', 'bigint')
    .addColumn('last_failure', 'text')
    .addColumn('dead_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('outbox_due')
    .on('outbox')
    .columns(['due_at', 'seq'])
    .where(sql.ref('dead_at'), 'is', null)
    .execute();
  await db.schema.createIndex('outbox_of_job').on('outbox').columns(['job_id', 'seq']).execute();
  await db.schema.createIndex('outbox_of_account').on('outbox').column('account_id').execute();
}

/** Deliveries are selected account by account, so that the backlog of one receiver is not read. */
async function outboxByAccount(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('outbox_waiting')
    .on('outbox')
    .columns(['account_id', 'due_at', 'seq'])
    .where(sql.ref('dead_at'), 'is', null)
    .execute();
  await db.schema.dropIndex('outbox_due').execute();
  await db.schema.dropIndex('outbox_of_account').execute();
}

/** State shared by the servers of one PostgreSQL. A SQLite server keeps it in a file and in its process. */
async function sharedByServers(db: Kysely<unknown>): Promise<void> {
  if (!isPostgres(db)) return;
  const onlyRow = sql`id = 1`;
  await db.schema
    .createTable('server_key')
    .addColumn('id', 'integer', (column) => column.primaryKey().check(onlyRow))
    .addColumn('key', 'text')
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .execute();
  // Unlogged, so that counting a request does not wait for the disk. After a crash the bucket is full.
  await db.schema
    .createTable('rate_bucket')
    .modifyFront(sql`unlogged`)
    .addColumn('id', 'integer', (column) => column.primaryKey().check(onlyRow))
    .addColumn('tokens', 'double precision', (column) => column.notNull())
    .addColumn('granted', 'integer', (column) => column.notNull())
    .addColumn('filled_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** One-time links and sessions of the dashboard. */
async function dashboardTokens(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('dashboard_tokens')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('link', 'session')`))
    .addColumn('key_id', 'text', (column) => column.references('api_keys.id'))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** How long each stage of a finished job took. */
async function stageTimes(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('stage_ms', 'text').execute();
}

/** Names to tell keys apart. */
async function namedKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('name', 'text').execute();
  await db.schema.alterTable('api_keys').addColumn('last_used_at', 'bigint').execute();
}

/** The log of deliveries. It outlives the events in the outbox. */
async function webhookDeliveries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text')
    .addColumn('status', 'text')
    .addColumn('progress', 'integer')
    .addColumn('event_created_at', 'bigint', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('request_headers', 'text', (column) => column.notNull())
    .addColumn('request_body', 'text', (column) => column.notNull())
    .addColumn('response_status', 'integer')
    .addColumn('response_body', 'text')
    .addColumn('failure', 'text')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('took_ms', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('webhook_deliveries_of_account')
    .on('webhook_deliveries')
    .columns(['account_id', 'id'])
    .execute();
}

/** At most one row. */
async function operatorPassword(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('operator_password')
    .addColumn('id', 'integer', (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute();
}

/** Runners, rates, jobs taken over from silent runners, and trace ids. */
async function seenFromOutside(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('runners')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('pid', 'integer', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('instance', 'text', (column) => column.notNull())
    .addColumn('bundle', 'text', (column) => column.notNull())
    .addColumn('device', 'text', (column) => column.notNull())
    .addColumn('adapter', 'text')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('heartbeat_at', 'bigint', (column) => column.notNull())
    .addColumn('alive_until', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('rates')
    .addColumn('instance', 'text', (column) => column.primaryKey())
    .addColumn('usd_per_second', 'double precision', (column) => column.notNull())
    .execute();
  await db.schema
    .alterTable('jobs')
    .addColumn('taken_over', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('jobs').addColumn('trace_id', 'text').execute();
  await db.schema.alterTable('outbox').addColumn('trace_id', 'text').execute();
  // Finds the job that a runner holds, however many wait.
  await db.schema
    .createIndex('jobs_held')
    .on('jobs')
    .column('runner')
    .where(sql.ref('runner'), 'is not', null)
    .execute();
}

/** At most one row: a copy by `gen3d admin migrate-to`. */
async function importFromSqlite(db: Kysely<unknown>): Promise<void> {
  if (!isPostgres(db)) return;
  await db.schema
    .createTable('import_from_sqlite')
    .addColumn('id', 'integer', (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .execute();
}

/** The location of assets and inputs, so that no process works with another one. */
async function assetLocation(db: Kysely<unknown>): Promise<void> {
  if (!isPostgres(db)) return;
  await db.schema
    .createTable('asset_location')
    .addColumn('id', 'integer', (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn('mark', 'text', (column) => column.notNull())
    .addColumn('location', 'text', (column) => column.notNull())
    .execute();
}

/** Turns in the queue; see jobs/turn.ts. */
async function turns(db: Kysely<unknown>): Promise<void> {
  for (const table of ['jobs', 'accounts']) {
    await db.schema
      .alterTable(table)
      .addColumn('turn', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
  }
  await sql`
    update jobs set turn = numbered.turn
    from (
      select id, row_number() over (partition by account_id order by id) as turn from jobs where finished_at is null
    ) as numbered
    where jobs.id = numbered.id`.execute(db);
  const indexOfOpenJobs = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('jobs').columns(columns).where(sql.ref('finished_at'), 'is', null).execute();
  await indexOfOpenJobs('jobs_open_in_turn', ['turn', 'id']);
  await indexOfOpenJobs('jobs_open_of_account', ['account_id', 'turn']);
  await db.schema.createIndex('accounts_turn').on('accounts').column('turn').execute();
}

/** Preparation becomes a separate stage with its own claims. Open jobs are prepared again. */
async function preparation(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('jobs')
    .addColumn('prepared', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('jobs').dropColumn('parked').execute();
  await db.schema.dropIndex('jobs_open_in_turn').execute();
  // Includes the account, so that jobs of excluded accounts are skipped without reading their rows.
  for (const [name, prepared] of [
    ['jobs_to_prepare', 0],
    ['jobs_to_infer', 1],
  ] as const) {
    await db.schema
      .createIndex(name)
      .on('jobs')
      .columns(['turn', 'id', 'account_id'])
      .where(sql.ref('finished_at'), 'is', null)
      .where(sql.ref('prepared'), '=', sql.lit(prepared))
      .execute();
  }
}

/** Indexes for repeated counts and for the newest events of an account; more than one rate bucket. */
async function countsAndBuckets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('jobs_open_by_status')
    .on('jobs')
    .columns(['status', 'created_at'])
    .where(sql.ref('finished_at'), 'is', null)
    .execute();
  await db.schema
    .createIndex('jobs_finished')
    .on('jobs')
    .columns(['finished_at', 'status'])
    .where(sql.ref('finished_at'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('outbox_dead')
    .on('outbox')
    .column('dead_at')
    .where(sql.ref('dead_at'), 'is not', null)
    .execute();
  await db.schema.createIndex('outbox_of_account').on('outbox').columns(['account_id', 'seq']).execute();
  await db.schema
    .createIndex('accounts_below_zero')
    .on('accounts')
    .column('id')
    .where(sql.ref('balance_microusd'), '<', sql.lit(0))
    .execute();
  if (isPostgres(db)) await sql`alter table rate_bucket drop constraint rate_bucket_id_check`.execute(db);
}

/** Stores when old records were last deleted, so that a clock that jumps does not delete them all. */
async function cleanUp(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('clean_up')
    .addColumn('id', 'integer', (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn('last_at', 'bigint', (column) => column.notNull())
    .addColumn('doubted_at', 'bigint')
    .execute();
}

/** The bundle that made a job's model. */
async function bundleOfJob(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('bundle', 'text').execute();
}

/** The label of a job, which names it in lists, and whether the gallery hides it. */
async function labels(db: Kysely<unknown>): Promise<void> {
  const ofJob = db.schema.alterTable('jobs');
  await ofJob.addColumn('label', 'text').execute();
  await ofJob.addColumn('label_folded', 'text', (column) => column.notNull().defaultTo('')).execute();
  await ofJob.addColumn('hidden', 'integer', (column) => column.notNull().defaultTo(0)).execute();
  await db.schema
    .createIndex('jobs_of_account_by_label')
    .on('jobs')
    .columns(['account_id', 'label_folded', 'id'])
    .execute();
}

/** The last characters of each key, by which people recognize it. */
async function keyEndings(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('ending', 'text').execute();
}

/** Listeners of `gen3d webhook listen --forward-to`, and the events that they have not acknowledged. */
async function webhookListeners(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_listeners')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('since', 'bigint', (column) => column.notNull())
    .addColumn('polled_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_listeners_key', ['account_id', 'id'])
    .execute();
  await db.schema
    .createTable('listener_events')
    .addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('listener_id', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text')
    .addColumn('status', 'text')
    .addColumn('progress', 'integer')
    .addColumn('error_code', 'text')
    .addColumn('error_message', 'text')
    .addColumn('model_key', 'text')
    .addColumn('thumbnail_key', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('listener_events_of_listener')
    .on('listener_events')
    .columns(['account_id', 'listener_id', 'seq'])
    .execute();
}

/** Lists by name are read per status, and counts need only the index. */
async function galleryIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('jobs_of_account_by_label').execute();
  await db.schema
    .createIndex('jobs_of_account_by_status_and_label')
    .on('jobs')
    .columns(['account_id', 'status', 'label_folded', 'id', 'hidden'])
    .execute();
  await db.schema
    .createIndex('jobs_hidden')
    .on('jobs')
    .columns(['account_id', 'id'])
    .where(sql.ref('hidden'), '=', sql.lit(1))
    .execute();
}
