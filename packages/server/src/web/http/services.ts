import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import type { ApiKeys } from '../../data/accounts/api-keys.js';
import type { DashboardTokens } from '../../data/accounts/dashboard-tokens.js';
import type { KeyUse } from '../../data/accounts/key-use.js';
import type { Db } from '../../data/db/open.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import type { Sample } from '../../data/jobs/create.js';
import type { Endpoints } from '../../data/webhooks/endpoints.js';
import type { BodyBudget } from './body-budget.js';
import type { Cursors } from './cursors.js';
import type { Metrics } from './metrics.js';

/** What the routes work with. */
export interface Services {
  config: Config;
  db: Db;
  keys: ApiKeys;
  keyUse: KeyUse;
  cursors: Cursors;
  dashboardTokens: DashboardTokens;
  endpoints: Endpoints;
  inputs: InputStore;
  bodyBudget: BodyBudget;
  metrics: Metrics;
  log: Logger;
  /** Undefined when they lie elsewhere, at `assetsUrl`. */
  assetsFolder: string | undefined;
  /** Known once the server listens. No slash at the end. */
  assetsUrl: () => string;
  /** USD per second of inference by serving instance. */
  rates: () => Readonly<Record<string, number>>;
  /** Where the public test key leads; undefined when it is switched off. */
  sandbox: { accountId: string; sample: Sample } | undefined;
  isReady: () => boolean;
  /** Resolves when the asset store can be used at the moment, and rejects otherwise. Cheap. */
  checkAssets: () => Promise<void>;
  /** A job was created. */
  onJobCreated: () => void;
}
