import { existsSync } from 'node:fs';
import { ConfigError } from '../base/errors.js';
import { createLog } from '../base/log.js';
import type { Config } from '../config.js';
import { dataDirOf } from '../data/installation/data-dir.js';
import type { Edges } from '../data/installation/edges.js';
import { openTables } from '../data/installation/open-stores.js';
import type { ServeOptions, Server } from '../serve.js';
import {
  createSupervisor,
  drain,
  drainGraceMs,
  endsInTime,
  followChosenBundles,
  openMetricsPort,
  warnOfMissingMatte,
} from '../service-parts.js';
import { unknownVariables } from '../unknown-variables.js';
import { Metrics } from '../web/http/metrics.js';
import { requireLocation } from './location.js';
import { isPostgresUrl } from './postgres/connections.js';

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
  edges: Edges,
  config: Config,
  { log = createLog(config), reloadConfig }: Pick<ServeOptions, 'log' | 'reloadConfig'> = {},
): Promise<Pick<Server, 'close'>> {
  for (const warning of unknownVariables()) log.warn(warning);
  checkWorkerConfig(config);
  const { db, dirs, kind } = await openTables(edges, config, log);
  const metrics = new Metrics(db, config.dataDir);
  const wakeup = kind.wakeup(db, dirs.database);
  const { supervisor } = createSupervisor({
    config,
    log,
    db,
    metrics,
    wakeup,
    onEvent: () => wakeup.notify('event_recorded'),
  });
  let ready = false;
  let closeMetricsPort = () => {};
  let stopListening = async () => {};
  let stopFollowingChoice = () => {};
  const close = async ({ graceMs = drainGraceMs }: { graceMs?: number } = {}) => {
    ready = false;
    stopFollowingChoice();
    const shutDown = drain(supervisor, stopListening, graceMs).then(() => {
      closeMetricsPort();
      return db.destroy();
    });
    await endsInTime(shutDown, graceMs, log);
  };
  try {
    const files = await edges.openFileStores(dirs, config);
    await files.check();
    await requireLocation(db, files, log);
    closeMetricsPort = await openMetricsPort({ config, db, metrics, isReady: () => ready, log });
    await supervisor.start();
    await warnOfMissingMatte(config, log);
    if (reloadConfig) stopFollowingChoice = followChosenBundles(config, reloadConfig, supervisor, log);
    stopListening = wakeup.listen({ job_waiting: () => supervisor.wake() });
    ready = true;
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
  return { close };
}
