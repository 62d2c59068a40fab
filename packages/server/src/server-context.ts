import type { Logger } from 'pino';
import type { Agent } from 'undici';
import type { Config } from './config.js';
import { createWorker, userUrlAgent, type WorkEdges } from './create-worker.js';
import { findValidKeys, KeyUse } from './data/accounts/api-keys.js';
import { DashboardTokens } from './data/accounts/dashboard-tokens.js';
import { countJobsWithoutModel } from './data/accounts/quotas.js';
import { kindOf, type Wakeup } from './data/db/database.js';
import { GroupCommit } from './data/db/group-commit.js';
import type { Store } from './data/installation/open-stores.js';
import { firstInQueue } from './data/jobs/claim.js';
import { jobEstimate } from './data/jobs/reservations.js';
import { Endpoints, SecretBox } from './data/webhooks/endpoints.js';
import { readEventStates } from './data/webhooks/events.js';
import { Cursors } from './web/answers/cursors.js';
import { EventFeed } from './web/answers/event-feed.js';
import { jobEstimates, queueHeadSize } from './web/answers/job-estimates.js';
import { createShares } from './web/guards/shares.js';
import { Metrics } from './web/metrics.js';
import type { Services } from './web/routes/services.js';
import { Delivery } from './work/webhooks/delivery.js';
import type { Worker, WorkerOptions } from './work/worker.js';

/** Values that become known while a server starts. */
export interface ServerState {
  ready: boolean;
  /** The public URL. Empty until the server listens. */
  url: string;
  /** The address of the assets in a bucket, which clients download without this server. */
  bucketUrl: string | undefined;
  /** USD per second of inference by serving instance. */
  rates: Readonly<Record<string, number>>;
}

/** Holds the objects that the parts of a server share. None of them has been started. */
export interface ServerContext {
  config: Config;
  log: Logger;
  store: Store;
  state: ServerState;
  assetsUrl: () => string;
  /** Sends all requests to URLs from users, and refuses private addresses. */
  dispatcher: Agent;
  wakeup: Wakeup;
  delivery: Delivery;
  /** Wakes what waits for events in this process: deliveries and streams. */
  wakeReaders: () => void;
  worker: Worker;
  /** The services that routes use, except the sandbox, which is opened later. */
  services: Omit<Services, 'sandbox' | 'assetsFolder'>;
}

export function createContext(
  { openModelServer }: Pick<WorkEdges, 'openModelServer'>,
  config: Config,
  store: Store,
  { log, fileTimeoutMs }: Pick<WorkerOptions, 'log' | 'fileTimeoutMs'>,
): ServerContext {
  const { db, dirs, files, keyRing } = store;
  const state: ServerState = { ready: false, url: '', bucketUrl: undefined, rates: config.rates ?? {} };
  const assetsUrl = () => config.assetsUrl ?? state.bucketUrl ?? `${state.url}/assets`;
  const metrics = new Metrics(db, config.dataDir);
  const endpoints = new Endpoints(db, new SecretBox(keyRing));
  const dispatcher = userUrlAgent(config);
  const delivery = new Delivery({
    db,
    endpoints,
    dispatcher,
    assetsUrl,
    retryDelays: config.webhookRetryDelays,
    pingDelay: config.webhookPingDelay,
    log,
    onOutcome: (outcome) => metrics.deliveries.inc({ outcome }),
  });
  const wakeup = kindOf(db).wakeup(db, dirs.database);
  const eventFeed = new EventFeed({
    readStates: (accountIds) => readEventStates(db, accountIds),
    findValidKeys: (ids) => findValidKeys(db, ids),
  });
  const wakeReaders = () => {
    delivery.wake();
    eventFeed.wake();
  };
  const onEvent = () => {
    wakeReaders();
    void wakeup.notify('event_recorded');
  };
  const commits = new GroupCommit(db);
  const shared = { config, db, commits, files, metrics, wakeup, dispatcher, onEvent, fileTimeoutMs, log };
  const worker = createWorker({ ...shared, openModelServer });
  const parts = {
    config,
    log,
    store,
    state,
    assetsUrl,
    dispatcher,
    wakeup,
    delivery,
    wakeReaders,
    worker,
  };
  return { ...parts, services: createServices(parts, { metrics, endpoints, eventFeed, commits, onEvent }) };
}

/** Collects what routes use. */
function createServices(
  { config, log, store, state, assetsUrl, wakeup, worker }: Omit<ServerContext, 'services'>,
  own: Pick<Services, 'metrics' | 'endpoints' | 'eventFeed'> & { commits: GroupCommit; onEvent: () => void },
): ServerContext['services'] {
  const { db, files, keyRing } = store;
  const { commits, onEvent, ...shared } = own;
  return {
    ...store,
    config,
    log,
    ...shared,
    estimateOf: jobEstimates(
      (jobId) => worker.runningStage(jobId),
      () => firstInQueue(db, queueHeadSize),
    ),
    assetsUrl,
    files,
    keyUse: new KeyUse(db, log),
    shares: createShares(config),
    cursors: new Cursors(keyRing),
    dashboardTokens: new DashboardTokens(db, keyRing),
    rates: () => state.rates,
    jobStores: {
      db,
      inputs: files.inputs,
      commits,
      maxOpenJobs: config.maxOpenJobs,
      maxJobsPerDay: config.maxJobsPerDay,
      keepPhotosDays: config.keepPhotosDays,
      estimate: jobEstimate(db, () => state.rates),
      withoutModel: countJobsWithoutModel(db),
    },
    isReady: () => state.ready,
    checkAssets: files.ping,
    filesHang: () => worker.filesHang,
    onJobCreated: () => {
      worker.wake();
      void wakeup.notify('job_waiting');
      onEvent();
    },
    onJobCanceled: () => {
      worker.checkLeases();
      void wakeup.notify('job_canceled');
      onEvent();
    },
  };
}
