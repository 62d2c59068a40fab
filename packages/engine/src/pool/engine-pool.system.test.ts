import type { Worker } from 'node:worker_threads';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { BundleError, EngineError } from '../base/errors.js';
import { writeBallBundle, writeMatteBundle } from '../bundle/bundle.fixture.js';
import { Engine } from '../engine.js';
import { decode } from '../photo/decode.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { EnginePool, type PoolOptions } from './engine-pool.js';

const folder = temporaryFolder(afterAll);
beforeAll(async () => {
  await writeBallBundle(folder, 'planes', { kind: 'planes' });
  await writeBallBundle(folder, 'points', { kind: 'points' });
  await writeMatteBundle(folder, 'bright');
});

const optionsOf = (bundle: string) => ({ bundle, matte: 'bright', device: 'cpu', modelDirs: [folder] }) as const;

async function openPool(options: Partial<PoolOptions> = {}): Promise<EnginePool> {
  const pool = await EnginePool.open({ ...optionsOf('points'), ...options });
  onTestFinished(() => pool.close());
  return pool;
}

/** The threads that are started from now on, until the test ends. */
function threads(): Worker[] {
  const started: Worker[] = [];
  const listener = (worker: Worker) => started.push(worker);
  process.on('worker', listener);
  onTestFinished(() => void process.off('worker', listener));
  return started;
}

const small = { resolution: 32, maxTriangles: 10_000, textureSize: 256 };

const drawing = (shapes: string) =>
  sharp(Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200">${shapes}</svg>`))
    .png()
    .toBuffer();
const cutout = () => drawing('<circle cx="100" cy="100" r="80" fill="#2a7fb8"/>');
/** Needs the matting network, which takes bright pixels for the object. */
const photo = () =>
  drawing('<rect width="200" height="200" fill="#111"/><circle cx="90" cy="110" r="60" fill="#fff0a0"/>');
const blank = () => drawing('<rect width="0" height="0"/>');

/** Occupies a thread only until the end of its first step, which is enough to start it. */
async function occupy(pool: EnginePool, image: Uint8Array): Promise<void> {
  const abort = new AbortController();
  const generating = pool.generate(image, { ...small, onProgress: () => abort.abort(), signal: abort.signal });
  await expect(generating).rejects.toThrow('abort');
}

test.each(['planes', 'inflate'])(
  'two concurrent photos become the same models as in a single engine: %s',
  async (bundle) => {
    const photos = [await cutout(), await photo()];
    const engine = await Engine.open(optionsOf(bundle));
    onTestFinished(() => engine.close());
    const pool = await openPool({ bundle, pipelines: 2 });
    const made = await Promise.all(photos.map((image) => pool.generate(image, small)));
    for (const [i, image] of photos.entries()) {
      const expected = await engine.generate(image, small);
      expect(Buffer.from(made[i]!.glb).equals(Buffer.from(expected.glb))).toBe(true);
      expect(Buffer.from(made[i]!.thumbnail).equals(Buffer.from(expected.thumbnail))).toBe(true);
      expect({ ...made[i]!.stats, stageMs: 0 }).toEqual({ ...expected.stats, stageMs: 0 });
    }
  },
);

test('photos of several sides reach the thread, and a list without a front is refused', async () => {
  const pool = await openPool({ bundle: 'inflate' });
  const [front, left] = [await cutout(), await decode(await photo())];
  const { stats } = await pool.generate(
    [
      { photo: front, side: 'front' },
      { photo: left, side: 'left' },
    ],
    small,
  );
  expect(stats.warnings).toContain('photo_not_used_left');
  await expect(pool.generate([{ photo: left, side: 'left' }], small)).rejects.toThrow('No photo is of the front');
});

test('threads start when photos need them, and all but one end after a minute without photos', async () => {
  const started = threads();
  const pool = await openPool({ pipelines: 3 });
  expect(started).toHaveLength(2);
  const image = await cutout();
  await occupy(pool, image);
  expect(started).toHaveLength(2);

  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  await Promise.all([1, 2, 3].map(() => occupy(pool, image)));
  expect(started).toHaveLength(4);
  // Any of the three can be the one that stays: the photos end in any order.
  const twoEnded = new Promise<void>((resolve) => {
    let left = 3;
    for (const worker of started.slice(1)) worker.once('exit', () => --left === 1 && resolve());
  });
  vi.advanceTimersByTime(60_000);
  await twoEnded;
  // The one that is left.
  await occupy(pool, image);
  expect(started).toHaveLength(4);
});

test('the time that a photo waits for the device is reported, and no stage includes it', async () => {
  const pool = await openPool({ pipelines: 2 });
  const image = await cutout();
  const fine = { ...small, resolution: 128 };
  const made = await Promise.all(
    [1, 2].map(async () => {
      const start = performance.now();
      const { stats, ...times } = await pool.generate(image, fine);
      const stagesMs = Object.values(stats.stageMs).reduce((sum, ms) => sum + ms);
      return { ...times, stagesMs, totalMs: performance.now() - start };
    }),
  );
  for (const { deviceMs, deviceWaitMs, engineMs, stagesMs, totalMs } of made) {
    expect(deviceMs).toBeGreaterThan(0);
    expect(deviceWaitMs).toBeGreaterThan(0);
    expect(deviceMs).toBeLessThan(stagesMs);
    expect(stagesMs).toBeLessThan(engineMs);
    expect(engineMs + deviceWaitMs).toBeLessThan(totalMs);
  }
});

describe('a pool of one thread', () => {
  let pool: EnginePool;
  beforeAll(async () => {
    pool = await EnginePool.open(optionsOf('inflate'));
  });
  afterAll(() => pool.close());

  test('a photo never blocks the thread of its caller', async () => {
    const before = performance.eventLoopUtilization();
    await pool.generate(await cutout());
    // On the caller's thread, the engine's steps would use nearly all of the time.
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5);
  });

  test('an error about a photo reaches the caller, and the next photo succeeds', async () => {
    const error = await pool.generate(await blank(), small).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ code: 'no_foreground', message: expect.stringContaining(' ') });
    expect((await pool.generate(await cutout(), small)).glb.length).toBeGreaterThan(0);
  });

  test('an aborted photo ends at its next step, and the next photo succeeds', async () => {
    const abort = new AbortController();
    const seen: number[] = [];
    const onProgress = (fraction: number) => {
      seen.push(fraction);
      abort.abort();
    };
    const image = await decode(await cutout());
    await expect(pool.generate(image, { ...small, onProgress, signal: abort.signal })).rejects.toThrow('abort');
    expect(Math.max(...seen)).toBeLessThan(1);
    await expect(pool.generate(image, { ...small, signal: abort.signal })).rejects.toThrow('abort');
    expect((await pool.generate(image, small)).glb.length).toBeGreaterThan(0);
  });

  test('a photo that waits for the thread stops waiting when it is aborted, and the thread goes to the next one', async () => {
    const waiting = new AbortController();
    const image = await decode(await cutout());
    const ended: string[] = [];
    const note = (name: string) => () => void ended.push(name);
    const running = pool.generate(image, { ...small, onProgress: () => waiting.abort() });
    await Promise.all([
      running.then(note('running')),
      expect(pool.generate(image, { ...small, signal: waiting.signal }))
        .rejects.toThrow('abort')
        .then(note('aborted')),
      pool.generate(image, small).then(note('next')),
    ]);
    expect(ended).toEqual(['aborted', 'running', 'next']);
  });
});

test('if a thread crashes, only its photo fails, and the thread is replaced', async () => {
  const started = threads();
  const pool = await openPool({ pipelines: 2 });
  const image = await cutout();
  let crashed = false;
  const crash = () => {
    if (crashed) return;
    crashed = true;
    void started[1]!.terminate();
  };
  const made = await Promise.allSettled([
    pool.generate(image, { ...small, onProgress: crash }),
    pool.generate(image, small),
    pool.generate(image, small),
  ]);
  expect(made.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(made[0]).toMatchObject({ reason: { message: 'the pipeline thread ended with code 1' } });
  // The network thread, two others, and the one that replaced the first of these.
  expect(started).toHaveLength(4);
});

test('a bundle that does not exist, or that cannot be loaded, is a BundleError with its name', async () => {
  await expect(EnginePool.open(optionsOf('nowhere'))).rejects.toThrow(BundleError);
  await expect(EnginePool.open(optionsOf('nowhere'))).rejects.toThrow(/nowhere/);
  const decoder = { sceneCodes: 'codes' };
  await writeBallBundle(folder, 'misnamed', { kind: 'points', decoder });
  const opening = EnginePool.open(optionsOf('misnamed'));
  await expect(opening).rejects.toThrow(BundleError);
  await expect(opening).rejects.toThrow(/encoder\.onnx has no output "codes"/);
});
