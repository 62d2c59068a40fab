import type { Tables } from '../../data/db/tables.js';

export type CopiedTable = Exclude<keyof Tables, keyof typeof notCopied>;

/** The state of processes, which a copy would not have. */
const notCopied = {
  runners: true,
  clean_up: true,
  webhook_listeners: true,
  listener_events: true,
} as const;

/**
 * Lists the tables of an installation and their primary keys, referenced tables first. This does not compile until a
 * new table is listed here or above.
 */
export const copiedTables = {
  accounts: 'id',
  api_keys: 'id',
  ledger: 'id',
  jobs: 'id',
  deleted_jobs: 'job_id',
  shared_models: 'job_id',
  rates: 'instance',
  webhook_endpoints: 'account_id',
  outbox: 'seq',
  webhook_deliveries: 'id',
  operator_password: 'id',
  dashboard_tokens: 'hash',
  audit_log: 'id',
} as const satisfies Record<CopiedTable, string>;

export const copiedTableNames = Object.keys(copiedTables) as CopiedTable[];
