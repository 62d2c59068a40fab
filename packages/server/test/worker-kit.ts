import type { EnginePool } from '@gen3d/engine';
import { onTestFinished } from 'vitest';
import { guardedAgent } from '../src/base/net/guarded-agent.js';
import { GroupCommit } from '../src/data/db/group-commit.js';
import { decodedPhoto } from '../src/work/runner/decoded-photo.js';
import { Runner } from '../src/work/runner/runner.js';
import type { Made, ModelMaker } from '../src/work/runner/runner-protocol.js';
import { Worker, type WorkerOptions } from '../src/work/worker.js';
import { silent } from './kit.js';

const unobserved = { claimed() {}, waited() {}, succeeded() {}, failed() {} };

export const testDevice = { provider: 'cpu', adapter: undefined, slots: 2 };

/** Makes models in this process, as a runner process does. */
export const inProcess = (engine: EnginePool): ModelMaker => ({
  async generate(photos, { onProgress, ...options }): Promise<Made> {
    const decoded = photos.map(({ side, image }) => ({ side, photo: decodedPhoto(image) }));
    const made = await engine.generate(decoded, {
      ...options,
      onProgress: (fraction, { running }) => onProgress?.(fraction, running),
    });
    return { ...made, stats: { ...made.stats, warnings: [...made.stats.warnings] } };
  },
  ended: new Promise(() => {}),
  pid: process.pid,
  kill() {},
});

export function readyRunner(maker: ModelMaker): Runner {
  const runner = new Runner(maker);
  runner.becomeReady(testDevice, 'cpu');
  return runner;
}

/** A worker with this runner, if any, and no preparation unless the options say so. It ends with the test at the latest. */
export function testWorker(
  options: Pick<WorkerOptions, 'db' | 'inputs' | 'assets'> & Partial<WorkerOptions>,
  { runner, leaseMs = 30_000, preparations = 0 }: { runner?: Runner; leaseMs?: number; preparations?: number } = {},
): Worker {
  const dispatcher = guardedAgent({ allowPrivateNetwork: true, connectTimeoutMs: 10_000 });
  const worker = new Worker({
    config: {
      preparations,
      leaseSeconds: leaseMs / 1_000,
      rates: { cpu: 1 },
      resolution: 32,
      textureSize: 256,
    },
    commits: new GroupCommit(options.db),
    dispatcher,
    children: {
      start: async () => testDevice,
      decode: () => Promise.reject(new Error('This worker prepares nothing')),
      nextRunner: () => (runner && runner.free > 0 ? runner : undefined),
      stop: async () => {},
    },
    observer: unobserved,
    onEvent: () => {},
    onPrepared: () => {},
    log: silent,
    ...options,
  });
  onTestFinished(async () => {
    await worker.drain(0);
    await dispatcher.destroy();
  });
  return worker;
}
