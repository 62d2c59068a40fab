import { decode, EngineError, readGlb } from '@gen3d/engine';
import { expect, onTestFinished, test } from 'vitest';
import { ballPhoto, transparentPhoto } from '../../../test/ball-photo.js';
import type { MeshOptions } from '../processes/messages.js';
import { ThreadedEngine } from './threaded-engine.js';

async function openEngine(meshOptions: MeshOptions = {}): Promise<ThreadedEngine> {
  const options = { bundle: 'inflate', matte: 'isnet', device: 'cpu', modelDirs: [], meshOptions } as const;
  const engine = await ThreadedEngine.open(options);
  onTestFinished(() => engine.close());
  return engine;
}

const defaults = { onProgress: () => {}, signal: new AbortController().signal };

test('an inference never blocks the thread of its caller', async () => {
  const engine = await openEngine();
  let turns = 0;
  const turnsAtProgress: number[] = [];
  const timer = setInterval(() => turns++, 1);
  onTestFinished(() => clearInterval(timer));
  const onProgress = () => turnsAtProgress.push(turns);
  const { glb, thumbnail } = await engine.generate(await decode(ballPhoto(320)), { ...defaults, onProgress });
  expect((await readGlb(Buffer.from(glb))).mesh.indices.length).toBeGreaterThan(0);
  expect(Buffer.from(thumbnail).toString('hex', 0, 2)).toBe('ffd8');
  // Some steps compute for hundreds of milliseconds. On the caller's thread, no turn would happen during them.
  const within = turnsAtProgress.slice(1).map((count, i) => count - turnsAtProgress[i]!);
  expect(within.filter((count) => count >= 10).length).toBeGreaterThanOrEqual(3);
});

test('an error of the engine about a photo is passed on, and the next photo succeeds', async () => {
  const engine = await openEngine();
  const error = await engine.generate(await decode(transparentPhoto()), defaults).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'no_foreground', message: expect.stringContaining(' ') });
  expect((await engine.generate(await decode(ballPhoto(160, 0.1)), defaults)).glb.length).toBeGreaterThan(0);
});

test('an aborted inference ends at its next step, and the next photo succeeds', async () => {
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
  await expect(engine.generate(await decode(ballPhoto()), { ...defaults, signal: abort.signal })).rejects.toThrow();
  expect((await engine.generate(await decode(ballPhoto(160, 0.1)), defaults)).glb.length).toBeGreaterThan(0);
});

test('opening a bundle that does not exist fails with its name', async () => {
  const opening = ThreadedEngine.open({ bundle: 'nowhere', matte: 'isnet', device: 'cpu', modelDirs: [] });
  await expect(opening).rejects.toThrow(/nowhere/);
});

test('models have the resolution, triangles and texture size of the settings', async () => {
  const engine = await openEngine({ resolution: 64, maxTriangles: 1_000, textureSize: 256 });
  const { glb } = await engine.generate(await decode(ballPhoto(320)), defaults);
  const { mesh, baseColor } = await readGlb(Buffer.from(glb));
  expect(mesh.indices.length / 3).toBeLessThanOrEqual(1_000);
  expect(baseColor.width).toBe(256);
});
