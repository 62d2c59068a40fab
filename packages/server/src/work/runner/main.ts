/** The runner process: started by the supervisor, spoken to over IPC, and gone when its parent is. */
import { availableParallelism, hostname } from 'node:os';
import { createLog } from '../../base/log.js';
import { version } from '../../base/version.js';
import type { Config } from '../../config.js';
import { rateOf } from '../../data/accounts/rates.js';
import { openDatabase } from '../../data/db/open.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { openDataDir } from '../../data/installation/data-dir.js';
import { openFileStores } from '../../data/installation/file-stores.js';
import { keepAnnounced } from '../../data/runners/registry.js';
import { notifyParent, onStart } from '../processes/child-process.js';
import type { FromRunner, ToRunner } from '../processes/messages.js';
import { defaultStageTimeoutMs } from '../stages/stage-failures.js';
import { modelDirs } from './model-dirs.js';
import { Runner } from './runner.js';
import { ThreadedEngine } from './threaded-engine.js';

const gib = 1024 ** 3;

/** Sends the last word and leaves; the callback runs when it is on its way. */
function leave(code: number, news: FromRunner): void {
  process.send?.(news, undefined, undefined, () => process.exit(code));
}

/**
 * Sessions of native code may grow from job to job. Twice what the first job left behind, and some room, is not the
 * bundle's own size any more: a fresh process costs less than the machine running out of memory.
 */
function memoryWatch(): () => boolean {
  let afterFirstJob: number | undefined;
  return () => {
    const { rss } = process.memoryUsage();
    afterFirstJob ??= rss;
    return rss > 2 * afterFirstJob + gib;
  };
}

/** Runners share the machine's cores; one alone has as many as onnxruntime thinks good. */
const threadsOf = ({ workers }: Config): number =>
  workers > 1 ? Math.max(1, Math.floor(availableParallelism() / workers)) : 0;

type Start = Extract<ToRunner, { type: 'start' }>;

async function start({ runner: name, config, logLevel, deviceFailed, retryDeviceMs }: Start): Promise<void> {
  const log = createLog(config, logLevel).child({ runner: name });
  const dirs = openDataDir(config);
  const { bundle, matte, device, leaseSeconds } = config;
  const { resolution, maxTriangles, textureSize } = config;
  // One to work, one to report progress, one to renew leases.
  const db = openDatabase(dirs.database, { connections: 3, log });
  let engine: ThreadedEngine;
  let runner: Runner | undefined;
  let fellBack = false;
  let retryDeviceAt = Number.POSITIVE_INFINITY;
  const fallBack = () => {
    fellBack = true;
    retryDeviceAt = performance.now() + retryDeviceMs;
    // After a job the runner checks the time itself.
    setTimeout(() => runner?.idle && runner.drain(0), retryDeviceMs);
    notifyParent({ type: 'fellBack' });
  };
  /** A CPU that stands in for a GPU is neither counted nor charged as the instance of that GPU. */
  const instance = () => (fellBack ? 'cpu' : (config.instance ?? engine.chosen.provider));
  try {
    engine = await ThreadedEngine.open({
      bundle,
      matte,
      device,
      modelDirs: modelDirs(config),
      cacheDir: config.dataDir,
      threads: threadsOf(config),
      onFallback: (message) => {
        log.warn({ deviceRetrySeconds: retryDeviceMs / 1_000 }, message);
        fallBack();
      },
      detail: { resolution, maxTriangles, textureSize },
    });
    if (deviceFailed && engine.chosen.provider === 'cpu') fallBack();
    // A price that is missing is better known now than when the first job is done.
    if (!fellBack) {
      await rateOf(db, config, instance()).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
      });
    }
  } catch (error) {
    leave(1, { type: 'failed', message: error instanceof Error ? error.message : String(error) });
    return;
  }
  const { inputs, assets } = await openFileStores(dirs, config);
  const isWornOut = memoryWatch();
  const working = new Runner({
    name,
    db,
    engine,
    inputs,
    assets,
    leaseMs: leaseSeconds * 1_000,
    stageTimeoutMs: defaultStageTimeoutMs,
    instance,
    rate: () =>
      rateOf(db, config, instance()).catch((error: unknown) => {
        if (isUnavailable(error)) throw error;
        // The server was given other prices since this runner began, or none for the CPU that stands in for a GPU.
        log.error({ err: error }, 'this inference is not charged');
        return 0;
      }),
    isWornOut: () => isWornOut() || performance.now() >= retryDeviceAt,
    notify: notifyParent,
    log,
  });
  runner = working;
  process.on('message', (message: ToRunner) => {
    if (message.type === 'wake') working.wake();
    if (message.type === 'retire') working.retire();
    if (message.type === 'drain') working.drain(message.graceMs);
  });
  const { provider, adapter, passedOver } = engine.chosen;
  const problems = Object.fromEntries(passedOver.map((report) => [report.provider, report.problem]));
  log.info({ device: provider, adapter: adapter?.name, passedOver: problems }, 'device chosen');
  const describe = () => ({
    host: hostname(),
    pid: process.pid,
    version,
    instance: instance(),
    bundle,
    device: fellBack ? 'cpu' : provider,
    adapter: (fellBack ? undefined : adapter?.name) ?? null,
  });
  const depart = await keepAnnounced(db, name, describe, leaseSeconds * 1_000, log);
  notifyParent({ type: 'ready', device: provider });
  const idle = await working.run();
  await depart();
  // Taking the networks away under a running inference could crash what shall end quietly.
  if (idle) await engine.close();
  await db.destroy();
  process.exit(0);
}

onStart(start);
