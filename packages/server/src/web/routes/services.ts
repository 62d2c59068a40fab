import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import type { ApiKeys, KeyUse } from '../../data/accounts/api-keys.js';
import type { DashboardTokens } from '../../data/accounts/dashboard-tokens.js';
import type { Db } from '../../data/db/database.js';
import type { JobStores, Sample } from '../../data/jobs/create.js';
import type { JobFiles } from '../../data/jobs/deletion.js';
import type { Endpoints } from '../../data/webhooks/endpoints.js';
import type { Cursors } from '../answers/cursors.js';
import type { EventFeed } from '../answers/event-feed.js';
import type { EstimateOf } from '../answers/job-estimates.js';
import type { ServerShares } from '../guards/shares.js';
import type { Metrics } from '../metrics.js';

/** Everything that routes use. Each takes only its part. */
export interface Services {
  config: Config;
  db: Db;
  keys: ApiKeys;
  keyUse: KeyUse;
  cursors: Cursors;
  dashboardTokens: DashboardTokens;
  endpoints: Endpoints;
  eventFeed: EventFeed;
  files: JobFiles;
  shares: ServerShares;
  metrics: Metrics;
  estimateOf: EstimateOf;
  log: Logger;
  /** Undefined if the assets are served from elsewhere, at `assetsUrl`. */
  assetsFolder: string | undefined;
  /** Known once the server listens. Without a trailing slash. */
  assetsUrl: () => string;
  /** USD per second of inference by serving instance. */
  rates: () => Readonly<Record<string, number>>;
  jobStores: JobStores;
  /** The account and the sample of the public test key. Undefined if the key is disabled. */
  sandbox: { accountId: string; sample: Sample } | undefined;
  isReady: () => boolean;
  /** Resolves if the asset store works at the moment, and rejects otherwise. Cheap. */
  checkAssets: () => Promise<void>;
  /** True while an access to a stored file hangs. */
  filesHang: () => boolean;
  onJobCreated: () => void;
  onJobCanceled: () => void;
}
