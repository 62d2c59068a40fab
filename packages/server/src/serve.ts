import type { Server as HttpServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '@gen3d/schema';
import type { Logger } from 'pino';
import { createLog } from './base/log.js';
import { guardedAgent } from './base/net/guarded-agent.js';
import { chooseBundles } from './chosen-bundles.js';
import type { Config } from './config.js';
import { sandboxAccount } from './data/accounts/accounts.js';
import { type Bootstrap, bootstrap } from './data/accounts/bootstrap.js';
import { DashboardTokens, signInPath } from './data/accounts/dashboard-tokens.js';
import { KeyUse } from './data/accounts/key-use.js';
import { publishRates } from './data/accounts/rates.js';
import { installSample } from './data/assets/sample.js';
import { whyHidden } from './data/assets/visibility.js';
import { currentTime } from './data/db/time.js';
import { openDataDir } from './data/installation/data-dir.js';
import type { Edges } from './data/installation/edges.js';
import { openStore, type Store } from './data/installation/open-stores.js';
import { firstInQueue } from './data/jobs/claim.js';
import { assetUrl } from './data/jobs/task.js';
import { Endpoints } from './data/webhooks/endpoints.js';
import { listenerSecret } from './data/webhooks/listeners.js';
import { SecretBox } from './data/webhooks/secret-box.js';
import {
  createSupervisor,
  drain,
  drainGraceMs,
  endsInTime,
  followChosenBundles,
  isWildcard,
  listen,
  localUrl,
  openMetricsPort,
  warnOfMissingMatte,
} from './service-parts.js';
import { unknownVariables } from './unknown-variables.js';
import { createApp } from './web/app.js';
import { BodyBudget } from './web/http/body-budget.js';
import { Cursors } from './web/http/cursors.js';
import { ExpectedEnds, queueHeadSize } from './web/http/expected-ends.js';
import { createHttpServer } from './web/http/http-server.js';
import { Metrics } from './web/http/metrics.js';
import type { Services } from './web/http/services.js';
import { createSlots } from './web/http/slots.js';
import { BundleManager } from './work/bundles/bundle-manager.js';
import { startHousekeeping } from './work/housekeeping.js';
import type { RunnerDevice } from './work/processes/messages.js';
import { slotsOf, thisMachine } from './work/runner/capacity.js';
import { Delivery } from './work/webhooks/delivery.js';

export interface Output {
  write(text: string): unknown;
}

export interface ServeOptions {
  /** Default: stderr, in the configured format. */
  log?: Logger;
  /** Gets the ready line. */
  stdout?: Output;
  /** Resolves the settings again after `gen3d models use`. Without it, the server keeps its bundles. */
  reloadConfig?: () => Config;
  /** Folder of the test key's model.glb and thumbnail.jpg. Default: the sample that gen3d ships. */
  sampleFolder?: string;
}

export interface Server {
  /** The public URL, or http://HOST:PORT. */
  url: string;
  port: number;
  /** The account that this start created, if it was the first with this database. Its key is not shown again. */
  bootstrap?: Bootstrap;
  /** Undefined without runners. */
  device?: RunnerDevice | undefined;
  /** A link that signs in one browser as the operator. It works once, within an hour. */
  signInLink(): Promise<string>;
  /** Stops accepting requests, gives running inferences `graceMs` (30 s) to finish, hands back the other jobs, and exits. */
  close(options?: { graceMs?: number }): Promise<void>;
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
 * @throws {ConfigError} if a store cannot be used, or another server uses the data directory of a SQLite database
 */
export async function serve(edges: Edges, config: Config, options: ServeOptions = {}): Promise<Server> {
  const { log = createLog(config), stdout = process.stdout, reloadConfig, sampleFolder } = options;
  for (const warning of unknownVariables()) log.warn(warning);
  const { database } = openDataDir(config);
  const kind = edges.databaseAt(database);
  const unlock = kind.lockForServing(config.dataDir);
  const store = await openStore(edges, config, log).catch((error: unknown) => {
    unlock();
    throw error;
  });
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
  const wakeup = kind.wakeup(db, database);
  const slots = config.workers * slotsOf(thisMachine(), config.workers);
  const expectedEnds = new ExpectedEnds(() => firstInQueue(db, queueHeadSize), slots);
  const { supervisor, announceJob } = createSupervisor({
    config,
    log,
    db,
    metrics,
    wakeup,
    onEvent: () => delivery.wake(),
    onJobMessage: (message) => expectedEnds.record(message),
  });
  let stopListening = async () => {};
  const bundleManager = new BundleManager({
    config,
    choose: (choice) => chooseBundles(config.dataDir, choice),
    reloadConfig,
    runners: supervisor,
    log,
  });
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
    bundleManager.cancelPull();
    const drained = drain(supervisor, stopListening, graceMs);
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
      unlock();
    };
    if (await endsInTime(shutDown(), graceMs, log)) return;
    http?.closeAllConnections();
    closeMetricsPort();
    await dispatcher.destroy();
  };

  try {
    bucketUrl = await files.check();
    // With a database of one server and the default folders, no other database can use the same files.
    if (kind.isShared || config.assets !== undefined) await edges.claimLocation(db, files, database, log);
    const sandbox = config.noTestKey ? undefined : await openSandbox(store, sampleFolder, log);
    const app = createApp({
      ...store,
      keyUse: new KeyUse(store.db, log),
      inputs: files.inputs,
      bodyBudget: new BodyBudget(),
      slots: createSlots(),
      config,
      cursors: new Cursors(serverKey),
      dashboardTokens,
      endpoints,
      listenerSecret: (accountId) => listenerSecret(serverKey, accountId),
      metrics,
      expectedEnds,
      log,
      assetsFolder: bucketUrl === undefined ? dirs.assets : undefined,
      assetsUrl,
      rates: () => rates,
      sandbox,
      bundleManager,
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
    if (config.workers > 0) await warnOfMissingMatte(config, log);
    if (reloadConfig) stopFollowingChoice = followChosenBundles(config, reloadConfig, supervisor, log);
    // Without configured rates, the only instance is this machine's device, at rate 0.
    const instance = config.instance ?? device?.provider;
    if (!config.rates && instance) rates = { [instance]: 0 };
    await delivery.start();
    stopListening = wakeup.listen({
      job_waiting: () => supervisor.wake(),
      event_recorded: () => delivery.wake(),
    });
    stopHousekeeping = startHousekeeping({ db, ...files }, log);
    ready = true;
    if (bucketUrl !== undefined && sandbox) {
      void whyHidden(assetUrl(assetsUrl(), sandbox.sample.modelKey)).then((problem) => problem && log.warn(problem));
    }

    // The last step, because a failed start must not create a key that is never shown.
    const first = await bootstrap(db, keys, config, currentTime(db));
    stdout.write(`gen3d is listening on ${address}\n`);
    const signInLink = async () => url + signInPath(await dashboardTokens.issueLink());
    return { url, port, ...(first ? { bootstrap: first } : {}), device, signInLink, close };
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
}
