/** A process that makes models of photos. It gets neither the database nor the stored files nor the keys. */
import type * as Engine from '@gen3d/engine';
import { type Handlers, parentChannel } from '@gen3d/rpc';
import { leaveSignalsToParent } from '../../base/child-process.js';
import { decodedPhoto } from './decoded-photo.js';
import type { RunnerFunctions, RunnerObserver } from './runner-protocol.js';

let engine: typeof Engine;
let pool: Engine.EnginePool;

leaveSignalsToParent();
const worker = parentChannel<RunnerObserver>({
  async open(settings) {
    // Loaded here, so that this call reports a native part that cannot be loaded.
    engine = await import('@gen3d/engine');
    const onWarning = (message: string) => worker.notify('fellBack', message);
    pool = await engine.EnginePool.open({ ...settings, onWarning });
    const { provider, adapter, rejected, expectedSeconds } = pool.chosen;
    return {
      provider,
      adapter: adapter?.name,
      rejected: rejected.map(({ provider, problem }) => ({ provider, problem })),
      expectedSeconds,
    };
  },
  async generate({ id, photos, options }, signal) {
    const decoded = photos.map(({ side, image }) => ({ side, photo: decodedPhoto(image) }));
    const onProgress: Engine.PoolGenerateOptions['onProgress'] = (fraction, { running, deviceWaitMs }) =>
      worker.notify('progress', { id, fraction, running, deviceWaitMs });
    const { stats, ...made } = await pool.generate(decoded, { ...options, onProgress, signal });
    const { bundle, warnings, outlineOverlap, stageMs } = stats;
    const rssBytes = process.memoryUsage.rss();
    return { ...made, stats: { bundle, warnings: [...warnings], outlineOverlap, stageMs }, rssBytes };
  },
  ping() {},
} satisfies Handlers<RunnerFunctions>);
