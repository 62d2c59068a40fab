import type { Tables } from '../db/tables.js';

export type CopiedTable = Exclude<keyof Tables, keyof typeof notCopied>;

/** What is true of processes and of a PostgreSQL, not of an installation. The server key is put there by itself, the place of models and photos by the first server there. */
const notCopied = {
  server_key: true,
  asset_location: true,
  rate_bucket: true,
  import_from_sqlite: true,
  runners: true,
  clean_up: true,
} as const;

/**
 * The tables of an installation and their primary keys, those first that others refer to. A new table has to be named here
 * or above, or this does not compile.
 */
export const copiedTables = {
  accounts: 'id',
  api_keys: 'id',
  ledger: 'id',
  jobs: 'id',
  rates: 'instance',
  webhook_endpoints: 'account_id',
  outbox: 'seq',
  webhook_deliveries: 'id',
  operator_password: 'id',
  dashboard_tokens: 'hash',
} as const satisfies Record<CopiedTable, string>;

export const copiedTableNames = Object.keys(copiedTables) as CopiedTable[];
