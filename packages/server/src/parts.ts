import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bundle, BundleError, findBundle, modelDirs } from '@gen3d/engine/bundles';
import { limits } from '@gen3d/schema';
import { closest, distance } from 'fastest-levenshtein';
import type { Logger } from 'pino';
import type { Agent } from 'undici';
import { guardedAgent } from './base/net/guarded-agent.js';
import { watchBundleChoice } from './chosen-bundles.js';
import { type Config, settings } from './config.js';
import type { Wakeup } from './data/db/database.js';
import type { Edges, FileStores } from './data/installation/edges.js';
import { createMetricsApp } from './web/app.js';
import { createHttpServer } from './web/guards/http-server.js';
import type { Metrics } from './web/metrics.js';
import { Children, type ChildrenOptions } from './work/children.js';
import { Worker, type WorkerOptions } from './work/worker.js';

/** Grace period for running inferences when the server stops. */
export const drainGraceMs = 30_000;
/** Time for the rest of a shutdown. The sum is less than the 45 s that systemd and compose allow. */
const shutdownMarginMs = 10_000;

/** A part of a server that was started, and can be stopped once. */
export interface Started {
  /** Stops the part. Running inferences have `graceMs` to finish. */
  stop(graceMs: number): Promise<void> | void;
  /** Ends what `stop` still waits for when the shutdown takes too long. */
  abort?(): Promise<void> | void;
}

/** Starts each part of a server after those it needs, and stops it before them. */
export class Parts {
  readonly #log: Logger;
  readonly #started: Started[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  async start<T extends Started>(part: Promise<T> | T): Promise<T> {
    const started = await part;
    this.#started.push(started);
    return started;
  }

  /** Stops the parts in reverse order. If that takes longer than `graceMs` plus a margin, logs it and aborts them. */
  async stop({ graceMs = drainGraceMs }: { graceMs?: number } = {}): Promise<void> {
    const reversed = this.#started.splice(0).reverse();
    const stopAll = async () => {
      for (const part of reversed) await part.stop(graceMs);
      return true;
    };
    const late = pause(graceMs + shutdownMarginMs, false, { ref: false });
    if (await Promise.race([stopAll(), late])) return;
    this.#log.warn('the shutdown takes too long; aborting what is still in progress');
    for (const part of reversed) await part.abort?.();
  }
}

// The functions below start the parts that `serve` and `worker` share.

/**
 * How many connections may wait to be accepted. Linux drops further ones, whose clients try again only after a second or
 * more. Node's default of 511 overflows when 600 connections come every second. The system may set a lower limit.
 */
const backlog = 4_096;

/** Returns the port, which the system chooses if it is 0. */
export async function listen(server: HttpServer, host: string, port: number): Promise<number> {
  server.listen({ port, host, backlog });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Opens `--metrics-port`, if it is set. Requests to it need no key, so its address is not that of the API. */
export async function openMetricsPort(services: Parameters<typeof createMetricsApp>[0]): Promise<Started> {
  const { config, log } = services;
  if (config.metricsPort === undefined) return { stop() {} };
  const http = createHttpServer(createMetricsApp(services));
  const port = await listen(http, config.metricsHost, config.metricsPort);
  log.info({ url: `${localUrl(config.metricsHost, port)}/metrics` }, 'serving metrics');
  const stop = () => {
    http.close();
    http.closeAllConnections();
  };
  return { stop, abort: stop };
}

export const isWildcard = (host: string) => host === '0.0.0.0' || host === '::';

/** Returns an address for clients on this machine. */
export function localUrl(host: string, port: number): string {
  const reachable = isWildcard(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Sends requests to URLs from users, for images and webhooks, and refuses private addresses. */
export const userUrlAgent = ({ allowPrivateNetwork, denyNetwork }: Config): Agent =>
  guardedAgent({ allowPrivateNetwork, denyNetwork, connectTimeoutMs: limits.webhookTimeoutMs });

/** What the composition root supplies to a worker. */
export interface WorkEdges extends Edges {
  openModelServer: ChildrenOptions['openModelServer'];
}

/** The objects that the worker of a machine uses, in a server or without one. */
interface WorkerParts
  extends Pick<WorkerOptions, 'db' | 'dispatcher' | 'onEvent' | 'fileTimeoutMs' | 'log'>,
    Pick<WorkEdges, 'openModelServer'> {
  config: Config;
  files: FileStores;
  metrics: Metrics;
  wakeup: Wakeup;
}

/** Creates the worker of a machine and its children. Neither has been started. */
export function createWorker({ files, metrics, wakeup, ...shared }: WorkerParts): {
  worker: Worker;
  children: Children;
} {
  const children = new Children({ ...shared, onCrash: (how) => metrics.runnerCrashes.inc({ how }) });
  const onPrepared = () => wakeup.notify('job_waiting');
  const worker = new Worker({ ...shared, ...files, children, observer: metrics, onPrepared });
  return { worker, children };
}

/**
 * Warns if the matting bundle is missing or damaged. Cutouts work without it, so that does not prevent the start. A model
 * server separates objects from backgrounds itself.
 */
export async function warnOfMissingMatte(config: Config, log: Logger): Promise<void> {
  const find = (name: string) => findBundle(name, modelDirs(config)).catch((error: unknown) => error);
  const [problem, bundle] = [await find(config.matte), await find(config.bundle)];
  const isElsewhere = !(bundle instanceof Error) && (bundle as Bundle).manifest.kind === 'http';
  if (!(problem instanceof BundleError) || isElsewhere) return;
  log.warn(`Only photos with a transparent background become models. ${problem.message}. Then restart this process.`);
}

/** Switches runners to the bundles that `gen3d models use` chooses, unless another setting overrides the choice. */
export function followChosenBundles(
  { dataDir }: Config,
  reloadConfig: (() => Config) | undefined,
  children: Children,
  log: Logger,
): Started {
  if (!reloadConfig) return { stop() {} };
  const stop = watchBundleChoice(dataDir, () => {
    try {
      children.useBundles(reloadConfig());
    } catch (error) {
      log.error({ err: error, ...children.bundles }, 'cannot read the choice of bundles; keeping the current ones');
    }
  });
  return { stop };
}

/** Variables that are not settings of the server. The command line and users of the SDK read them. */
const others = ['GEN3D_API_KEY', 'GEN3D_BASE_URL', 'GEN3D_CONFIG', 'GEN3D_CONFIG_DIR', 'GEN3D_WEBHOOK_SECRET'];

/** Kubernetes sets these in each pod for a service whose name begins with gen3d. */
const kubernetesVariable = /_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP)(_|$)|$)/;

/** Writes a warning for each variable that begins with GEN3D_ and has no effect, probably because it is misspelled. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = [...settings.map(({ variable }) => variable), ...others];
  return Object.keys(env)
    .filter((name) => name.startsWith('GEN3D_') && !known.includes(name) && !kubernetesVariable.test(name))
    .map((name) => {
      const nearest = closest(name, known);
      // The common prefix does not count toward the similarity.
      const isSimilar = distance(name, nearest) <= 0.5 * (name.length - 'GEN3D_'.length);
      return `${name} is not a setting and is ignored. ${isSimilar ? `Did you mean ${nearest}?` : 'See docs/configuration.md'}`;
    });
}
