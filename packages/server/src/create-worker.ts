import { limits } from '@gen3d/schema';
import type { Agent } from 'undici';
import { guardedAgent } from './base/net/guarded-agent.js';
import type { Config } from './config.js';
import type { Wakeup } from './data/db/database.js';
import type { FileStores } from './data/installation/file-stores.js';
import type { StoreEdges } from './data/installation/open-stores.js';
import type { Metrics } from './web/metrics.js';
import { Children, type ChildrenOptions } from './work/children.js';
import { Worker, type WorkerOptions } from './work/worker.js';

/** Sends requests to URLs from users, for images and webhooks, and refuses private addresses. */
export const userUrlAgent = ({ allowPrivateNetwork }: Config): Agent =>
  guardedAgent({ allowPrivateNetwork, connectTimeoutMs: limits.webhookTimeoutMs });

/** The edges that the composition root supplies to a worker. */
export interface WorkEdges extends StoreEdges {
  openModelServer: ChildrenOptions['openModelServer'];
}

/** The objects that the worker of a machine uses, in a server or without one. */
interface WorkerParts
  extends Pick<WorkerOptions, 'db' | 'commits' | 'dispatcher' | 'onEvent' | 'fileTimeoutMs' | 'log'>,
    Pick<WorkEdges, 'openModelServer'> {
  config: Config;
  files: FileStores;
  metrics: Metrics;
  wakeup: Wakeup;
}

/** Creates the worker of a machine, without starting it. */
export function createWorker({ files, metrics, wakeup, ...shared }: WorkerParts): Worker {
  const children = new Children({ ...shared, onCrash: (how) => metrics.runnerCrashes.inc({ how }) });
  const onPrepared = () => wakeup.notify('job_waiting');
  return new Worker({ ...shared, ...files, children, observer: metrics, onPrepared });
}
