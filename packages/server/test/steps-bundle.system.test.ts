import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readGlb } from '../../engine/src/gltf/read-glb.fixture.js';
import { createJob, finishedJob, imageJob, startServer } from './kit.js';

const bundle = join(import.meta.dirname, '../../engine/fixtures/sphere-and-chair');

/** A closed mesh's volume, by the divergence theorem. */
function volumeOf(positions: Float32Array, indices: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < indices.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((corner) =>
      positions.subarray(3 * indices[i + corner]!, 3 * indices[i + corner]! + 3),
    );
    sum += a![0]! * (b![1]! * c![2]! - b![2]! * c![1]!);
    sum += a![1]! * (b![2]! * c![0]! - b![0]! * c![2]!);
    sum += a![2]! * (b![0]! * c![1]! - b![1]! * c![0]!);
  }
  return sum / 6;
}

/** The mean of each channel over the pixels, 0..255. */
function meanColor({ data }: { data: Uint8Array }): number[] {
  const sums = [0, 0, 0];
  for (let i = 0; i < data.length; i++) if (i % 4 < 3) sums[i % 4]! += data[i]!;
  return sums.map((sum) => sum / (data.length / 4));
}

test('a flow model samples a shape step by step, and the job ends with a textured GLB of it', async () => {
  const { call } = await startServer({ workers: 1, bundle, device: 'cpu', resolution: 96, textureSize: 512 });
  const model = async (name: string) => {
    const job = imageJob(await readFile(join(bundle, `${name}.png`)));
    const task = await finishedJob(call, await createJob(call, job));
    expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
    return readGlb(Buffer.from(await (await fetch(task.model_urls!.glb)).arrayBuffer()));
  };

  const [sphere, chair] = [await model('sphere'), await model('chair')];
  // The longest side of a model is 1 m.
  expect(volumeOf(sphere.mesh.positions, sphere.mesh.indices)).toBeCloseTo(Math.PI / 6, 1);
  // The chair of the fixture's train.py has a volume of 0.353 and is 1.9 high.
  const volume = volumeOf(chair.mesh.positions, chair.mesh.indices) / (0.353 / 1.9 ** 3);
  expect(volume).toBeGreaterThan(0.8);
  expect(volume).toBeLessThan(1.2);
  // The photos show a blue sphere and a brown chair.
  const [blue, brown] = [meanColor(sphere.baseColor), meanColor(chair.baseColor)];
  expect(blue[2]! / blue[0]!).toBeGreaterThan(1.5);
  expect(brown[0]! / brown[2]!).toBeGreaterThan(1.5);
});
