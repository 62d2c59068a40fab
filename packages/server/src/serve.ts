import { existsSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '@gen3d/schema';
import type { Logger } from 'pino';
import { ConfigError } from './base/errors.js';
import { createLog } from './base/log.js';
import { guardedAgent } from './base/net/guarded-agent.js';
import { watchChosenModels } from './chosen-models.js';
import type { Config } from './config.js';
import { sandboxAccount } from './data/accounts/accounts.js';
import { type Bootstrap, bootstrap } from './data/accounts/bootstrap.js';
import { DashboardTokens, signInPath } from './data/accounts/dashboard-tokens.js';
import { KeyUse } from './data/accounts/key-use.js';
import { publishRates } from './data/accounts/rates.js';
import { installSample } from './data/assets/sample.js';
import { whyHidden } from './data/assets/visibility.js';
import { isPostgres } from './data/db/dialect.js';
import { identityOf } from './data/db/identity.js';
import { Listener, Notifier } from './data/db/notifications.js';
import type { Db } from './data/db/open.js';
import { isPostgresUrl } from './data/db/postgres.js';
import { currentTime } from './data/db/time.js';
import { dataDirOf } from './data/installation/data-dir.js';
import { openFileStores } from './data/installation/file-stores.js';
import { claimLocation, requireLocation } from './data/installation/location.js';
import { openStore, openTables, type Store } from './data/installation/open-stores.js';
import { expireLeasesOf } from './data/jobs/claim.js';
import { assetUrl } from './data/jobs/task.js';
import { forget } from './data/runners/registry.js';
import { Endpoints } from './data/webhooks/endpoints.js';
import { SecretBox } from './data/webhooks/secret-box.js';
import { unknownVariables } from './unknown-variables.js';
import { createApp } from './web/app.js';
import { BodyBudget } from './web/http/body-budget.js';
import { Cursors } from './web/http/cursors.js';
import { createHttpServer } from './web/http/http-server.js';
import { Metrics } from './web/http/metrics.js';
import { createMetricsApp } from './web/http/metrics-app.js';
import type { Services } from './web/http/services.js';
import { startHousekeeping } from './work/housekeeping.js';
import { Supervisor } from './work/processes/supervisor.js';
import { Delivery } from './work/webhooks/delivery.js';

/** Grace period for running inferences when the server stops. */
const drainGraceMs = 30_000;
/** For the rest of a shutdown. The sum is less than the 45 s that systemd and compose allow. */
const shutdownMarginMs = 10_000;

export interface Output {
  write(text: string): unknown;
  /** True for a terminal, false for a log. */
  isTTY?: boolean;
}

export interface ServeOptions {
  /** Default: stderr, in the configured format. */
  log?: Logger;
  /** Gets the ready line. */
  stdout?: Output;
  /** Gets the first API key, which is shown only once. */
  stderr?: Output;
  /** Resolves the settings again after `gen3d models use`. Without it, the server keeps its bundles. */
  reloadConfig?: () => Config;
  /** Folder of the test key's model.glb and thumbnail.jpg. Default: the sample that gen3d ships. */
  sampleFolder?: string;
}

export interface Server {
  /** The public URL, or http://HOST:PORT. */
  url: string;
  port: number;
  /** The account that this start created, if it was the first with this database. */
  bootstrap?: Bootstrap;
  /** Stops accepting requests, gives running inferences `graceMs` (30 s) to finish, hands back the other jobs, and exits. */
  close(options?: { graceMs?: number }): Promise<void>;
}

function listen(server: HttpServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Opens `--metrics-port`, if it is set. Returns a function that closes it. */
async function openMetricsPort(services: Parameters<typeof createMetricsApp>[0]): Promise<() => void> {
  const { config, log } = services;
  if (config.metricsPort === undefined) return () => {};
  const http = createHttpServer(createMetricsApp(services));
  const port = await listen(http, config.host, config.metricsPort);
  log.info({ url: `${localUrl(config.host, port)}/metrics` }, 'serving metrics');
  return () => {
    http.close();
    http.closeAllConnections();
  };
}

const isWildcard = (host: string) => host === '0.0.0.0' || host === '::';

/** An address for clients on this machine. */
function localUrl(host: string, port: number): string {
  const reachable = isWildcard(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

async function openSandbox(
  { db, files }: Store,
  sampleFolder: string | undefined,
  log: Logger,
): Promise<Services['sandbox']> {
  const sample = await installSample(files.assets, sampleFolder);
  if (!sample) {
    log.warn('the public test key is off because this build has no sample model');
    return undefined;
  }
  return { accountId: (await sandboxAccount(db, currentTime(db))).id, sample };
}

/**
 * Starts the whole service: database, first account, HTTP, runners, webhooks. When it accepts jobs, writes
 * `gen3d is listening on http://HOST:PORT` to stdout and resolves.
 * @throws {RunnerStartError} when the engine cannot be opened; a system error when the port is not available
 */
export async function serve(config: Config, options: ServeOptions = {}): Promise<Server> {
  const {
    log = createLog(config),
    stdout = process.stdout,
    stderr = process.stderr,
    reloadConfig,
    sampleFolder,
  } = options;
  for (const warning of unknownVariables()) log.warn(warning);
  const store = await openStore(config, log);
  const { db, dirs, keys, files, serverKey } = store;
  const metrics = new Metrics(db, config.dataDir);
  const dashboardTokens = new DashboardTokens(db, serverKey);
  const endpoints = new Endpoints(db, new SecretBox(serverKey));
  const dispatcher = guardedAgent({
    allowPrivateNetwork: config.allowPrivateNetwork,
    connectTimeoutMs: limits.webhookTimeoutMs,
  });

  let url = '';
  let rates: Readonly<Record<string, number>> = config.rates ?? {};
  let ready = false;
  /** The address of the assets in a bucket, which need no server of ours. */
  let bucketUrl: string | undefined;
  const assetsUrl = () => config.assetsUrl ?? bucketUrl ?? `${url}/assets`;
  const delivery = new Delivery({
    db,
    endpoints,
    dispatcher,
    assetsUrl,
    retryDelays: config.webhookRetryDelays,
    log,
    onOutcome: (outcome) => metrics.deliveries.inc({ outcome }),
  });
  const notifier = new Notifier(db);
  const { supervisor, announceJob } = createSupervisor({
    config,
    log,
    db,
    metrics,
    notifier,
    onEvent: () => delivery.wake(),
  });
  const listener = isPostgres(db)
    ? new Listener(dirs.database, { job_waiting: () => supervisor.wake(), event_recorded: () => delivery.wake() })
    : undefined;
  let http: HttpServer | undefined;
  let stopHousekeeping = () => {};
  let stopFollowingChoice = () => {};
  let closeMetricsPort = () => {};

  const close = async ({ graceMs = drainGraceMs }: { graceMs?: number } = {}) => {
    ready = false;
    const closed = new Promise<void>((resolve) => (http?.listening ? http.close(() => resolve()) : resolve()));
    http?.closeIdleConnections();
    stopHousekeeping();
    stopFollowingChoice();
    const drained = drain(supervisor, listener, graceMs);
    // Delivers the last events of jobs that finish during the drain. A delivery may take 21 s, so none starts in its second
    // half.
    const delivered = Promise.race([drained, pause(graceMs / 2, undefined, { ref: false })]).then(() =>
      delivery.stop(),
    );
    const shutDown = async () => {
      await Promise.all([drained, delivered]);
      // The remaining connections are idle or too slow.
      http?.closeAllConnections();
      closeMetricsPort();
      await closed;
      await dispatcher.close();
      await db.destroy();
    };
    if (await endsWithin(shutDown(), graceMs + shutdownMarginMs)) return;
    log.warn('the shutdown takes too long; aborting what is still in progress');
    http?.closeAllConnections();
    closeMetricsPort();
    await dispatcher.destroy();
  };

  try {
    bucketUrl = await files.check();
    // With SQLite and the default folders, no other database can use the same files.
    if (isPostgres(db) || config.assets !== undefined) {
      await claimLocation(db, files, await identityOf(db, dirs.database), log);
    }
    const sandbox = config.noTestKey ? undefined : await openSandbox(store, sampleFolder, log);
    const app = createApp({
      ...store,
      keyUse: new KeyUse(store.db, log),
      inputs: files.inputs,
      bodyBudget: new BodyBudget(),
      config,
      cursors: new Cursors(serverKey),
      dashboardTokens,
      endpoints,
      metrics,
      log,
      assetsFolder: bucketUrl === undefined ? dirs.assets : undefined,
      assetsUrl,
      rates: () => rates,
      sandbox,
      bundles: () => supervisor.bundles,
      isReady: () => ready,
      checkAssets: files.ping,
      onJobCreated: () => {
        announceJob();
        delivery.wake();
      },
    });
    http = createHttpServer(app);
    const port = await listen(http, config.host, config.port);
    closeMetricsPort = await openMetricsPort({ config, db, metrics, isReady: () => ready, log });
    const address = localUrl(config.host, port);
    url = config.publicUrl ?? address;
    if (isWildcard(config.host) && assetsUrl().startsWith(address)) {
      log.warn(
        `Models get URLs such as ${assetsUrl()}/…, which only this machine can open. Set --public-url (GEN3D_PUBLIC_URL) to the address that clients use`,
      );
    }

    await publishRates(db, config.rates ?? {});
    const device = await supervisor.start();
    if (reloadConfig) stopFollowingChoice = followChosenBundles(config, reloadConfig, supervisor, log);
    // Without configured rates, the only instance is this machine's device, at rate 0.
    const instance = config.instance ?? device;
    if (!config.rates && instance) rates = { [instance]: 0 };
    await delivery.start();
    listener?.start();
    stopHousekeeping = startHousekeeping({ db, ...files }, log);
    ready = true;
    if (bucketUrl !== undefined && sandbox) {
      void whyHidden(assetUrl(assetsUrl(), sandbox.sample.modelKey)).then((problem) => problem && log.warn(problem));
    }

    // The last step, because a failed start must not create a key that is never shown.
    const first = await bootstrap(db, keys, config, currentTime(db));
    if (first?.generated) {
      stderr.write(`Created the account "default". Its API key, shown only once: ${first.apiKey}\n`);
    }
    if (first) {
      // In a log, the link would give its readers access to the dashboard.
      stderr.write(
        stderr.isTTY
          ? `To open the dashboard as the operator, use this link once, within an hour: ${url}${signInPath(await dashboardTokens.issueLink())}\n`
          : 'To open the dashboard as the operator: gen3d admin sign-in-link\n',
      );
    }
    stdout.write(`gen3d is listening on ${address}\n`);
    return { url, port, ...(first ? { bootstrap: first } : {}), close };
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
}

/** Switches runners to the bundles that `gen3d models use` chooses, unless another setting overrides the choice. */
function followChosenBundles(
  { dataDir }: Config,
  reloadConfig: () => Config,
  supervisor: Supervisor,
  log: Logger,
): () => void {
  return watchChosenModels(dataDir, () => {
    try {
      supervisor.useBundles(reloadConfig());
    } catch (error) {
      log.error({ err: error, ...supervisor.bundles }, 'cannot read the choice of bundles; keeping the current ones');
    }
  });
}

/** Closes the listener concurrently, so that no runner claims another job in the meantime. */
async function drain(supervisor: Supervisor, listener: Listener | undefined, graceMs: number): Promise<void> {
  await Promise.all([supervisor.drain(graceMs), listener?.stop()]);
}

async function endsWithin(work: Promise<void>, ms: number): Promise<boolean> {
  return Promise.race([work.then(() => true), pause(ms, false, { ref: false })]);
}

interface SupervisorContext {
  config: Config;
  log: Logger;
  db: Db;
  metrics: Metrics;
  notifier: Notifier;
  /** Called when an event may be waiting for delivery. */
  onEvent: () => void;
}

/** Also returns `announceJob`, which wakes the idle processes of all machines when a job is waiting. */
function createSupervisor({ config, log, db, metrics, notifier, onEvent }: SupervisorContext) {
  const announceJob = () => {
    supervisor.wake();
    notifier.notify('job_waiting');
  };
  const supervisor = new Supervisor({
    config,
    log,
    onJobMessage: (message) => {
      metrics.recordJobMessage(message);
      if (message.type === 'prepared') announceJob();
      if (message.type === 'changed' || message.type === 'finished') onEvent();
    },
    onExit: async (runner) => {
      await expireLeasesOf(db, runner, currentTime(db));
      await forget(db, runner);
    },
    onCrash: (how) => metrics.runnerCrashes.inc({ how }),
  });
  return { supervisor, announceJob };
}

/** @throws {ConfigError} when a worker would have no runners, or would create the database of a new installation */
function checkWorkerConfig(config: Config): void {
  if (config.workers === 0) {
    throw new ConfigError('--workers 0 (GEN3D_WORKERS) leaves a worker without runners. Set it to 1 or more');
  }
  const { database } = dataDirOf(config);
  if (isPostgresUrl(database) || existsSync(database)) return;
  throw new ConfigError(
    `${config.dataDir} has no database of a server. Name the server's with --database or --data-dir`,
  );
}

/** Starts more runners for a server's database. Resolves when they are ready. */
export async function worker(
  config: Config,
  { log = createLog(config), reloadConfig }: Pick<ServeOptions, 'log' | 'reloadConfig'> = {},
): Promise<{ close(options?: { graceMs?: number }): Promise<void> }> {
  for (const warning of unknownVariables()) log.warn(warning);
  checkWorkerConfig(config);
  const { db, dirs } = await openTables(config, log);
  const metrics = new Metrics(db, config.dataDir);
  const notifier = new Notifier(db);
  const { supervisor } = createSupervisor({
    config,
    log,
    db,
    metrics,
    notifier,
    onEvent: () => notifier.notify('event_recorded'),
  });
  let ready = false;
  let closeMetricsPort = () => {};
  const listener = isPostgres(db) ? new Listener(dirs.database, { job_waiting: () => supervisor.wake() }) : undefined;
  let stopFollowingChoice = () => {};
  const close = async ({ graceMs = drainGraceMs }: { graceMs?: number } = {}) => {
    ready = false;
    stopFollowingChoice();
    const shutDown = drain(supervisor, listener, graceMs).then(() => {
      closeMetricsPort();
      return db.destroy();
    });
    if (await endsWithin(shutDown, graceMs + shutdownMarginMs)) return;
    log.warn('the shutdown takes too long; aborting what is still in progress');
  };
  try {
    const files = await openFileStores(dirs, config);
    await files.check();
    await requireLocation(db, files, log);
    closeMetricsPort = await openMetricsPort({ config, db, metrics, isReady: () => ready, log });
    await supervisor.start();
    if (reloadConfig) stopFollowingChoice = followChosenBundles(config, reloadConfig, supervisor, log);
    listener?.start();
    ready = true;
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
  return { close };
}
