import { hostname } from 'node:os';
import type { HttpManifest } from '@gen3d/engine';
import { builtInBundle, findBundle, modelDirs } from '@gen3d/engine/bundles';
import { createLog, routineLevel } from '../../base/log.js';
import { version } from '../../base/version.js';
import type { Config } from '../../config.js';
import { rateOf } from '../../data/accounts/rates.js';
import { openDatabase } from '../../data/db/open.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { openDataDir } from '../../data/installation/data-dir.js';
import type { Edges } from '../../data/installation/edges.js';
import { keepAnnounced } from '../../data/runners/registry.js';
import { serveSupervisor } from '../processes/child-process.js';
import type { FromChild, RunnerDevice, StartOptions } from '../processes/messages.js';
import { defaultStageTimeoutMs } from '../stages/stage-failures.js';
import { perJobBytes, slotsOf, thisMachine } from './capacity.js';
import type { Runner } from './runner.js';

const gib = 1024 ** 3;

/**
 * Watches for memory that native sessions leak from job to job. Returns a function that is true once the process has
 * grown beyond twice its size after the first job, plus 1 GiB, plus the memory of the jobs in its other slots, because
 * a new process costs less than a machine that runs out of memory.
 */
function watchMemory(slots: number): () => boolean {
  let afterFirstJob: number | undefined;
  return () => {
    const { rss } = process.memoryUsage();
    afterFirstJob ??= rss;
    return rss > 2 * afterFirstJob + gib + (slots - 1) * perJobBytes;
  };
}

/** Returns the manifest of the bundle if it names a model server. */
async function modelServerOf(config: Config): Promise<HttpManifest | undefined> {
  if (config.bundle === builtInBundle) return undefined;
  const { manifest } = await findBundle(config.bundle, modelDirs(config));
  return manifest.kind === 'http' ? manifest : undefined;
}

let runner: Runner | undefined;

type Notify = (message: FromChild) => void;

async function start(edges: Edges, options: StartOptions, notify: Notify): Promise<RunnerDevice> {
  const { id, config, logLevel, deviceFailed, retryDeviceMs } = options;
  // Loaded here, so that this call reports a native part that cannot be loaded.
  const { Runner } = await import('./runner.js');
  const { ModelServer } = await import('./model-server.js');
  const { EnginePool } = await import('@gen3d/engine');
  const log = createLog(config, logLevel).child({ runner: id });
  const dirs = openDataDir(config);
  const { bundle, matte, device, leaseSeconds } = config;
  const { resolution, maxTriangles, textureSize } = config;
  // One connection each for the work itself, for progress reports, and for renewing leases.
  const db = openDatabase(edges.databaseAt(dirs.database), dirs.database, { connections: 3, log });
  const machine = thisMachine();
  const modelServer = await modelServerOf(config);
  const maxSlots = slotsOf(machine, config.workers, false);
  let fellBack = false;
  let retryDeviceAt = Number.POSITIVE_INFINITY;
  const fallBack = () => {
    fellBack = true;
    retryDeviceAt = performance.now() + retryDeviceMs;
    // A busy runner checks the time after each job.
    setTimeout(() => runner?.idle && runner.drain(0), retryDeviceMs);
    notify({ type: 'fellBack' });
  };
  const pool = {
    bundle,
    matte,
    device,
    modelDirs: modelDirs(config),
    cacheDir: config.dataDir,
    // Several runners share the cores of the machine. For a single one, 0 leaves the choice to onnxruntime.
    threads: config.workers > 1 ? Math.max(1, Math.floor(machine.cores / config.workers)) : 0,
    pipelines: maxSlots,
    onWarning: (message: string) => {
      log.warn({ deviceRetrySeconds: retryDeviceMs / 1_000 }, message);
      fallBack();
    },
  };
  const engine = modelServer
    ? new ModelServer({
        manifest: modelServer,
        // The limit ends the process, so a request must end earlier.
        timeoutMs: 950 * config.inferenceLimitSeconds,
        rules: { allowPrivateNetwork: config.allowPrivateNetwork, denyNetwork: config.denyNetwork },
      })
    : await EnginePool.open(pool);
  const slots = modelServer
    ? Math.min(maxSlots, modelServer.concurrency)
    : slotsOf(machine, config.workers, engine.chosen.provider === 'cpu');
  /** A CPU that replaces a GPU is neither counted nor charged as the GPU's instance. */
  const instance = () => (fellBack ? 'cpu' : (config.instance ?? engine.chosen.provider));
  if (deviceFailed && engine.chosen.provider === 'cpu') fallBack();
  // A missing rate must fail the start, not the first job.
  if (!fellBack) {
    await rateOf(db, config, instance()).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
  }
  const { inputs, assets } = await edges.openFileStores(dirs, config);
  const hasLeaked = watchMemory(slots);
  const working = new Runner({
    name: id,
    db,
    engine,
    slots,
    meshOptions: { resolution, maxTriangles, textureSize },
    inputs,
    assets,
    leaseMs: leaseSeconds * 1_000,
    keepPhotosDays: config.keepPhotosDays,
    stageTimeoutMs: defaultStageTimeoutMs,
    instance,
    rate: () =>
      rateOf(db, config, instance()).catch((error: unknown) => {
        if (isUnavailable(error)) throw error;
        // The rates changed after this runner started, or have no entry for a CPU that replaces a GPU.
        log.error({ err: error }, 'no rate is known; the inference is free of charge');
        return 0;
      }),
    shouldRestart: () => hasLeaked() || performance.now() >= retryDeviceAt,
    notify,
    log,
  });
  runner = working;
  if (engine instanceof ModelServer) {
    void engine.probe().then((problem) => problem !== undefined && log.error(problem));
  }
  const { provider, adapter, rejected, expectedSeconds } = engine.chosen;
  log[routineLevel(config)]({ device: provider, adapter: adapter?.name }, 'device chosen');
  for (const { provider, problem } of rejected) log.debug({ device: provider, problem }, 'device rejected');
  if (expectedSeconds !== undefined) {
    log.warn(
      { inferenceLimitSeconds: config.inferenceLimitSeconds },
      `${bundle} is designed for GPUs. On this CPU, a photo takes about ${Math.ceil(expectedSeconds)} s`,
    );
  }
  const describe = () => ({
    host: hostname(),
    pid: process.pid,
    version,
    instance: instance(),
    bundle,
    device: fellBack ? 'cpu' : provider,
    adapter: (fellBack ? undefined : adapter?.name) ?? null,
  });
  const depart = await keepAnnounced(db, id, describe, leaseSeconds * 1_000, log);
  // Starts after the response to this call.
  setImmediate(async () => {
    const idle = await working.run();
    await depart();
    // Freeing the networks during an inference could crash the process.
    if (idle) await engine.close();
    await db.destroy();
    process.exit(0);
  });
  return { provider, adapter: adapter?.name, slots };
}

/** Runs the runner process. The supervisor starts it and controls it over IPC. It exits when its parent does. */
export function runRunner(edges: Edges): void {
  const notify: Notify = serveSupervisor({
    start: (options) => start(edges, options, notify),
    wake: () => runner?.wake(),
    retire: () => runner?.retire(),
    drain: (graceMs) => runner?.drain(graceMs),
  });
}
