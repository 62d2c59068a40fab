import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createLog } from './base/log.js';
import type { Config } from './config.js';
import type { WorkEdges } from './create-worker.js';
import { sandboxAccount } from './data/accounts/accounts.js';
import { type Bootstrap, bootstrap } from './data/accounts/api-keys.js';
import { signInPath } from './data/accounts/dashboard-tokens.js';
import { publishRates } from './data/accounts/rates.js';
import { installSample, visibilityProblem } from './data/assets/sample.js';
import { kindOf } from './data/db/database.js';
import { lockForServing } from './data/db/serving-lock.js';
import { currentTime } from './data/db/time.js';
import { openDataDir, storeServerUrl } from './data/installation/data-dir.js';
import { openStore, type Store, type StoreEdges } from './data/installation/open-stores.js';
import { assetUrl } from './data/jobs/task.js';
import { warnOfMissingMatte } from './missing-matte.js';
import { Parts, type Started } from './parts.js';
import { isWildcard, listen, localUrl, openMetricsPort } from './ports.js';
import { createContext, type ServerContext } from './server-context.js';
import { unknownVariables } from './unknown-variables.js';
import { createApp } from './web/app.js';
import { createHttpServer } from './web/guards/http-server.js';
import type { RouteGroup } from './web/mount.js';
import type { Services } from './web/routes/services.js';
import { startHousekeeping } from './work/housekeeping.js';
import type { RunnerDevice } from './work/runner/runner.js';

// Starts `gen3d serve` as a list of parts, each of which returns how to stop it, and stops them in reverse order, also
// when the start fails halfway. The ready line is written last, once jobs are accepted. Models are made and images are
// decoded in child processes, so native code can crash without taking the API down.

export interface Output {
  write(text: string): unknown;
}

export interface ServeOptions {
  /** Default: stderr, in the configured format. */
  log?: Logger;
  /** Gets the ready line. */
  stdout?: Output;
  /** Folder of the test key's model.glb and thumbnail.jpg. Default: the sample that gen3d ships. */
  sampleFolder?: string;
  /** Time limit for an access to a stored file. Default: 2 minutes. */
  fileTimeoutMs?: number;
}

export interface Server {
  /** The public URL, or http://HOST:PORT. */
  url: string;
  port: number;
  /** The account that this start created, if it was the first with this database. Its key is not shown again. */
  bootstrap?: Bootstrap;
  /** Undefined without runners. */
  device?: RunnerDevice | undefined;
  /** Makes a link that signs one browser in as the operator. It works once, within an hour. */
  signInLink(): Promise<string>;
  /** Stops accepting requests, gives running inferences `graceMs` (30 s) to finish, and releases the other jobs. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** The edges that the composition root supplies to a server. */
export interface ServerEdges extends WorkEdges {
  /** Returns the routes of other servers, which `--compat` adds. */
  foreignRoutes(services: Services): readonly RouteGroup<'key'>[];
}

/**
 * Starts the whole service: database, first account, HTTP, runners, webhooks. When it accepts jobs, writes
 * `gen3d is listening on http://HOST:PORT` to stdout and resolves.
 * @throws {RunnerStartError} when the engine cannot be opened; a system error when the port is not available
 * @throws {ConfigError} if a store cannot be used, or another server uses the data directory of a SQLite database
 */
export async function serve(edges: ServerEdges, config: Config, options: ServeOptions = {}): Promise<Server> {
  const { log = createLog(config), stdout = process.stdout, fileTimeoutMs } = options;
  for (const warning of unknownVariables()) log.warn(warning);
  const parts = new Parts(log);
  try {
    const { store } = await parts.start(openStores(edges, config, log));
    const context = createContext(edges, config, store, { log, fileTimeoutMs });
    const { state, services } = context;
    await parts.start(closeDispatcher(context));
    const sandbox = await openFiles(edges, context, options);
    const http = await parts.start(openHttp(edges, context, sandbox));
    await parts.start(openMetricsPort(services));
    await publishRates(store.db, config.rates ?? {});
    const { device } = await parts.start(startWork(context));
    if (config.workers > 0) await warnOfMissingMatte(config, log);
    await parts.start({ stop: startHousekeeping({ db: store.db, ...store.files }, config, log) });
    await parts.start(accept(context, http));
    if (state.bucketUrl !== undefined && sandbox) void warnOfHiddenModels(context, sandbox);

    // The last step, because a failed start must not create a key that is never shown.
    const first = await bootstrap(store.db, store.keys, config, currentTime(store.db));
    storeServerUrl(store.dirs, state.url);
    stdout.write(`gen3d is listening on ${http.address}\n`);
    return {
      url: state.url,
      port: http.port,
      ...(first ? { bootstrap: first } : {}),
      device,
      signInLink: async () => state.url + signInPath(await services.dashboardTokens.issueLink()),
      close: (how) => parts.stop(how),
    };
  } catch (error) {
    await parts.stop({ graceMs: 0 });
    throw error;
  }
}

async function openStores(edges: StoreEdges, config: Config, log: Logger): Promise<Started & { store: Store }> {
  const { database } = await openDataDir(config);
  const { isShared } = edges.databaseAt(database);
  const unlock = isShared ? () => {} : lockForServing(config.dataDir, database);
  const store = await openStore(edges, config, { log }).catch((error: unknown) => {
    unlock();
    throw error;
  });
  const stop = async () => {
    await store.db.destroy();
    unlock();
  };
  return { store, stop };
}

/** Closes the dispatcher, which needs no start. */
const closeDispatcher = ({ dispatcher }: ServerContext): Started => ({
  stop: () => dispatcher.close(),
  abort: () => dispatcher.destroy(),
});

/** Checks the stores of models and images, and opens the account of the public test key. */
async function openFiles(
  edges: StoreEdges,
  { config, log, store, state }: ServerContext,
  { sampleFolder }: ServeOptions,
): Promise<Services['sandbox']> {
  const { db, files } = store;
  state.bucketUrl = await files.check();
  // With a database of one server and the default folders, no other database can use the same files.
  if (kindOf(db).isShared || config.assets !== undefined) await edges.claimLocation(store, log);
  if (config.noTestKey) return undefined;
  const sample = await installSample(files.assets, sampleFolder);
  if (sample) return { accountId: (await sandboxAccount(db, currentTime(db))).id, sample };
  log.warn('this build has no sample model, so the public test key is disabled');
  return undefined;
}

interface Http extends Started {
  port: number;
  /** Where clients on this machine reach the server. */
  address: string;
  /** Accepts no further requests. Those in progress continue. */
  stopAccepting(): void;
}

/** Listens. Until the server is ready, only some routes respond. */
async function openHttp(
  edges: ServerEdges,
  { config, log, store, state, assetsUrl, services }: ServerContext,
  sandbox: Services['sandbox'],
): Promise<Http> {
  const assetsFolder = state.bucketUrl === undefined ? store.dirs.assets : undefined;
  const forRoutes = { ...services, sandbox, assetsFolder };
  const http = createHttpServer(createApp(forRoutes, config.compat ? edges.foreignRoutes(forRoutes) : []));
  const port = await listen(http, config.host, config.port);
  const address = localUrl(config.host, port);
  state.url = config.publicUrl ?? address;
  if (isWildcard(config.host) && assetsUrl().startsWith(address)) {
    log.warn(
      `Models get URLs such as ${assetsUrl()}/…, which only this machine can open. Set --public-url (GEN3D_PUBLIC_URL) to the address that clients use`,
    );
  }
  const closed = new Promise<void>((resolve) => http.once('close', () => resolve()));
  const stopAccepting = () => {
    if (http.listening) http.close();
    http.closeIdleConnections();
  };
  return {
    port,
    address,
    stopAccepting,
    async stop() {
      stopAccepting();
      services.eventFeed.stop();
      // The remaining connections are idle or too slow.
      http.closeAllConnections();
      await closed;
    },
    abort: () => http.closeAllConnections(),
  };
}

/** Starts the worker, the deliveries, and listening for other servers. */
async function startWork({
  config,
  state,
  worker,
  delivery,
  wakeReaders,
  wakeup,
}: ServerContext): Promise<Started & { device: RunnerDevice | undefined }> {
  let stopListening = async () => {};
  const stop = async (graceMs: number) => {
    const drained = Promise.all([worker.drain(graceMs), stopListening()]);
    // Delivers the last events of jobs that finish during the drain. A delivery may take 21 s, so none starts in its
    // second half.
    await Promise.race([drained, pause(graceMs / 2, undefined, { ref: false })]);
    await Promise.all([drained, delivery.stop()]);
  };
  try {
    const device = await worker.start();
    // Without configured rates, the only instance is this machine's device, at rate 0.
    const instance = config.instance ?? device?.provider;
    if (!config.rates && instance) state.rates = { [instance]: 0 };
    delivery.start();
    stopListening = wakeup.listen({
      job_waiting: () => worker.wake(),
      job_canceled: () => worker.checkLeases(),
      event_recorded: wakeReaders,
    });
    return { device, stop };
  } catch (error) {
    await stop(0);
    throw error;
  }
}

/** Says that the server is ready, and later that it is not. */
function accept({ state }: ServerContext, http: Http): Started {
  state.ready = true;
  const stop = () => {
    state.ready = false;
    http.stopAccepting();
  };
  return { stop };
}

async function warnOfHiddenModels(
  { log, assetsUrl }: ServerContext,
  { sample }: NonNullable<Services['sandbox']>,
): Promise<void> {
  const problem = await visibilityProblem(assetUrl(assetsUrl(), sample.modelKey));
  if (problem) log.warn(problem);
}
