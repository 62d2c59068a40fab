import { decode, EngineError, readGlb } from '@gen3d/engine';
import { expect, onTestFinished, test } from 'vitest';
import { ballPhoto, transparentPhoto } from '../../../test/ball-photo.js';
import type { Detail } from '../processes/messages.js';
import { ThreadedEngine } from './threaded-engine.js';

async function openEngine(detail: Detail = {}): Promise<ThreadedEngine> {
  const options = { bundle: 'inflate', matte: 'isnet', device: 'cpu', modelDirs: [], detail } as const;
  const engine = await ThreadedEngine.open(options);
  onTestFinished(() => engine.close());
  return engine;
}

const quiet = { onProgress: () => {}, signal: new AbortController().signal };

test('an inference leaves the thread of its caller free, from its first step to its last', async () => {
  const engine = await openEngine();
  let turns = 0;
  const turnsAtProgress: number[] = [];
  const turning = setInterval(() => turns++, 1);
  onTestFinished(() => clearInterval(turning));
  const onProgress = () => turnsAtProgress.push(turns);
  const { glb, thumbnail } = await engine.generate(await decode(ballPhoto(320)), { ...quiet, onProgress });
  expect((await readGlb(Buffer.from(glb))).mesh.indices.length).toBeGreaterThan(0);
  expect(Buffer.from(thumbnail).toString('hex', 0, 2)).toBe('ffd8');
  // The steps that only compute take hundreds of milliseconds; on the caller's thread no turn would fall into any of them.
  const within = turnsAtProgress.slice(1).map((count, i) => count - turnsAtProgress[i]!);
  expect(within.filter((count) => count >= 10).length).toBeGreaterThanOrEqual(3);
});

test('what is wrong with a photo is told as the engine tells it, and the next photo is done', async () => {
  const engine = await openEngine();
  const error = await engine.generate(await decode(transparentPhoto()), quiet).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'no_foreground', message: expect.stringContaining(' ') });
  expect((await engine.generate(await decode(ballPhoto(160, 0.1)), quiet)).glb.length).toBeGreaterThan(0);
});

test('an inference that is aborted ends at its next step, and the next photo is done', async () => {
  const engine = await openEngine();
  const abort = new AbortController();
  const seen: number[] = [];
  const onProgress = (fraction: number) => {
    seen.push(fraction);
    abort.abort();
  };
  await expect(engine.generate(await decode(ballPhoto()), { onProgress, signal: abort.signal })).rejects.toThrow(
    'abort',
  );
  expect(Math.max(...seen)).toBeLessThan(1);
  await expect(engine.generate(await decode(ballPhoto()), { ...quiet, signal: abort.signal })).rejects.toThrow();
  expect((await engine.generate(await decode(ballPhoto(160, 0.1)), quiet)).glb.length).toBeGreaterThan(0);
});

test('an engine that cannot be opened says why', async () => {
  const opening = ThreadedEngine.open({ bundle: 'nowhere', matte: 'isnet', device: 'cpu', modelDirs: [] });
  await expect(opening).rejects.toThrow(/nowhere/);
});

test('models are as fine as the settings say', async () => {
  const engine = await openEngine({ resolution: 64, maxTriangles: 1_000, textureSize: 256 });
  const { glb } = await engine.generate(await decode(ballPhoto(320)), quiet);
  const { mesh, baseColor } = await readGlb(Buffer.from(glb));
  expect(mesh.indices.length / 3).toBeLessThanOrEqual(1_000);
  expect(baseColor.width).toBe(256);
});
