import { existsSync } from 'node:fs';
import { ConfigError } from '../base/errors.js';
import { createLog } from '../base/log.js';
import type { Config } from '../config.js';
import { createWorker, userUrlAgent, type WorkEdges } from '../create-worker.js';
import { kindOf } from '../data/db/database.js';
import { GroupCommit } from '../data/db/group-commit.js';
import { dataDirOf } from '../data/installation/data-dir.js';
import { openTables } from '../data/installation/open-stores.js';
import { warnOfMissingMatte } from '../missing-matte.js';
import { Parts } from '../parts.js';
import { openMetricsPort } from '../ports.js';
import type { ServeOptions, Server } from '../serve.js';
import { unknownVariables } from '../unknown-variables.js';
import { Metrics } from '../web/metrics.js';
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

/** Starts the worker of a machine without an API, for a server's database. Resolves when its runners are ready. */
export async function worker(
  edges: WorkEdges,
  config: Config,
  { log = createLog(config) }: Pick<ServeOptions, 'log'> = {},
): Promise<Pick<Server, 'close'>> {
  for (const warning of unknownVariables()) log.warn(warning);
  checkWorkerConfig(config);
  const parts = new Parts(log);
  try {
    const { db, dirs } = await openTables(edges, config, { log });
    await parts.start({ stop: () => db.destroy() });
    const metrics = new Metrics(db, config.dataDir);
    const wakeup = kindOf(db).wakeup(db, dirs.database);
    const files = await edges.openFileStores(dirs, config);
    await files.check();
    await requireLocation({ db, dirs, files }, log);
    let ready = false;
    await parts.start(openMetricsPort({ config, db, metrics, isReady: () => ready, log }));
    const dispatcher = userUrlAgent(config);
    await parts.start({ stop: () => dispatcher.close(), abort: () => dispatcher.destroy() });
    const onEvent = () => wakeup.notify('event_recorded');
    const commits = new GroupCommit(db);
    const worker = createWorker({
      ...{ config, db, commits, files, metrics, wakeup, dispatcher, onEvent, log },
      openModelServer: edges.openModelServer,
    });
    let stopListening = async () => {};
    await parts.start({ stop: async (graceMs) => void (await Promise.all([worker.drain(graceMs), stopListening()])) });
    await worker.start();
    stopListening = wakeup.listen({ job_waiting: () => worker.wake(), job_canceled: () => worker.checkLeases() });
    await warnOfMissingMatte(config, log);
    ready = true;
    await parts.start({
      stop() {
        ready = false;
      },
    });
    return { close: (how) => parts.stop(how) };
  } catch (error) {
    await parts.stop({ graceMs: 0 });
    throw error;
  }
}
