import { existsSync } from 'node:fs';
import { ConfigError } from '../base/errors.js';
import { createLog } from '../base/log.js';
import type { Config } from '../config.js';
import type { Wakeup } from '../data/db/database.js';
import { dataDirOf } from '../data/installation/data-dir.js';
import type { Edges } from '../data/installation/edges.js';
import { openTables } from '../data/installation/open-stores.js';
import {
  createSupervisor,
  followChosenBundles,
  openMetricsPort,
  Parts,
  type Started,
  unknownVariables,
  warnOfMissingMatte,
} from '../parts.js';
import type { ServeOptions, Server } from '../serve.js';
import { Metrics } from '../web/metrics.js';
import type { Supervisor } from '../work/processes/supervisor.js';
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
  const parts = new Parts(log);
  try {
    const { db, dirs, kind } = await openTables(edges, config, { log });
    await parts.start({ stop: () => db.destroy() });
    const metrics = new Metrics(db, config.dataDir);
    const wakeup = kind.wakeup(db, dirs.database);
    const onEvent = () => wakeup.notify('event_recorded');
    const { supervisor } = createSupervisor({ config, log, db, metrics, wakeup, onEvent });
    const files = await edges.openFileStores(dirs, config);
    await files.check();
    await requireLocation({ db, dirs, files }, log);
    let ready = false;
    await parts.start(openMetricsPort({ config, db, metrics, isReady: () => ready, log }));
    await parts.start(startRunners(supervisor, wakeup));
    await warnOfMissingMatte(config, log);
    await parts.start(followChosenBundles(config, reloadConfig, supervisor, log));
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

async function startRunners(supervisor: Supervisor, wakeup: Wakeup): Promise<Started> {
  await supervisor.start().catch(async (error: unknown) => {
    await supervisor.drain(0);
    throw error;
  });
  const stopListening = wakeup.listen({ job_waiting: () => supervisor.wake() });
  return {
    async stop(graceMs) {
      // Stops both concurrently, so that no runner claims another job in the meantime.
      await Promise.all([supervisor.drain(graceMs), stopListening()]);
    },
  };
}
