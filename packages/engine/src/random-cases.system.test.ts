import { join } from 'node:path';
import validator from 'gltf-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EngineError } from './base/errors.js';
import { writeBallBundle } from './bundle/bundle.fixture.js';
import { Engine } from './engine.js';
import { readGlb } from './gltf/read-glb.fixture.js';
import { pick, randomPhoto, seededRandom, soak } from './random-cases.fixture.js';
import { welded } from './surface/topology.fixture.js';
import { nonManifoldVertices } from './surface/topology.js';
import { temporaryFolder } from './temporary-folder.fixture.js';

const cases = soak ? 200 : 10;
const resolutions = soak ? [32, 64, 128, 160, 256] : [32, 64, 96];
const textureSizes = soak ? [64, 512, 1024, 2048] : [64, 512];
const bundles = ['inflate', 'gen3d-base', 'noise-points', 'noise-planes', 'no-camera', 'nothing', 'all'];

const folder = temporaryFolder(afterAll);
const engines = new Map<string, Engine>();

beforeAll(async () => {
  const wave = (plane: number, a: number, b: number) => 0.12 * Math.sin(9 * a + plane) * Math.sin(8 * b - 2 * plane);
  await writeBallBundle(folder, 'noise-points', { kind: 'points', radius: 0.45, dents: wave });
  await writeBallBundle(folder, 'noise-planes', { kind: 'planes', radius: 0.5, dents: (...at) => 2 * wave(...at) });
  await writeBallBundle(folder, 'no-camera', { kind: 'planes', dents: wave, manifest: { camera: undefined } });
  // No surface at all, and one that the box cuts off on every side.
  await writeBallBundle(folder, 'nothing', { kind: 'planes', dents: () => 9 });
  await writeBallBundle(folder, 'all', { kind: 'planes', dents: () => -9 });
});

afterAll(async () => {
  for (const engine of engines.values()) await engine.close();
});

async function engineOf(bundle: string): Promise<Engine> {
  const modelDirs = [folder, join(import.meta.dirname, '../../../models')];
  const engine = engines.get(bundle) ?? (await Engine.open({ bundle, matte: 'isnet', device: 'cpu', modelDirs }));
  engines.set(bundle, engine);
  return engine;
}

test.each(Array.from({ length: cases }, (_, seed) => seed))(
  "any image and any bundle give a GLB without a message from Khronos's validator, or a typed error: seed %i",
  async (seed) => {
    const random = seededRandom(seed);
    const { bytes, what } = await randomPhoto(random);
    const bundle = pick(random, bundles);
    const options = {
      resolution: pick(random, resolutions),
      textureSize: pick(random, textureSizes),
      maxTriangles: pick(random, [10_000, 30_000, 100_000]),
    };
    const case_ = `${what}, ${bundle}, ${JSON.stringify(options)}`;
    const engine = await engineOf(bundle);
    const outcome = await engine.generate(bytes, options).catch((error: unknown) => error);
    if (outcome instanceof Error) {
      expect(outcome, `${case_}: ${outcome.stack}`).toBeInstanceOf(EngineError);
      return;
    }
    const { glb, stats } = outcome as Awaited<ReturnType<Engine['generate']>>;
    const { issues } = await validator.validateBytes(glb);
    expect(issues.messages, case_).toEqual([]);
    expect(stats.triangles, case_).toBeLessThanOrEqual(options.maxTriangles);
    const { mesh } = await readGlb(glb);
    expect(nonManifoldVertices(welded(mesh)), case_).toHaveLength(0);
  },
);
