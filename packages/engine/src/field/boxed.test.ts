import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BundleError } from '../base/errors.js';
import { type BallOptions, ballHalfExtent, writeBallBundle } from '../bundle/bundle.fixture.js';
import { bundleOfKind, loadBundle } from '../bundle/load-bundle.js';
import { onnxFile } from '../bundle/onnx.fixture.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { seededRandom } from '../random-cases.fixture.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { boxedKind } from './boxed.js';
import type { BoxManifest } from './boxed-field.js';
import type { FieldNetworks } from './decoder-kind.js';
import { densitiesAt } from './test-fields.fixture.js';

const photo = paintCutout(64, (u, v) => [200, 40, 90, Math.hypot(u, v) < 0.85 ? 255 : 0]);

let folder: string;
const opened: FieldNetworks[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const networks of opened.splice(0)) await networks.release();
});

async function open(options: BallOptions): Promise<FieldNetworks> {
  const bundle = await loadBundle(await writeBallBundle(folder, 'ball', options));
  const networks = await boxedKind.open(bundleOfKind(bundle, 'reconstruction'));
  opened.push(networks);
  return networks;
}
const ballField = async (options: BallOptions) => (await open(options)).encode(photo);

/** Pseudo-random positions all over the box and beyond it by a tenth. */
function scattered(count: number): Float32Array {
  const next = seededRandom(1);
  return Float32Array.from({ length: 3 * count }, () => (next() - 0.5) * 2.2 * ballHalfExtent);
}

describe.each(['planes', 'points'] as const)('a %s decoder', (kind) => {
  test('is dense inside the ball and not outside, to the accuracy of the triplane', async () => {
    const field = await ballField({ kind, radius: 0.4 });
    const along = (r: number) => [r, 0, 0, 0, -r, 0, 0, 0, r, r * 0.6, r * 0.64, r * -0.48];
    const density = await densitiesAt(field, new Float32Array([...along(0.38), ...along(0.42), 0, 0, 0]));
    for (const value of density.subarray(0, 4)) expect(value).toBeGreaterThan(field.threshold);
    for (const value of density.subarray(4, 8)) expect(value).toBeLessThan(field.threshold);
    expect(density[8]).toBeCloseTo(25 + 100 * 0.4 ** 2, 0);
  });

  test('evaluates any number of points in chunks, in their order', async () => {
    const field = await ballField({ kind });
    const points = scattered(40_000);
    const together = await densitiesAt(field, points);
    for (const i of [0, 8191, 8192, 32_767, 32_768, 39_999]) {
      expect((await densitiesAt(field, points.slice(3 * i, 3 * i + 3)))[0]).toBeCloseTo(together[i]!, 4);
    }
  });

  test('is below the threshold everywhere outside its box', async () => {
    // A ball larger than the box, so that only the box limits the corners.
    const field = await ballField({ kind, radius: 3 });
    const points = scattered(5000);
    const density = await densitiesAt(field, points);
    const reach = (i: number) => Math.max(...points.subarray(3 * i, 3 * i + 3).map(Math.abs));
    for (let i = 0; i < density.length; i++) {
      expect(density[i]! > field.threshold).toBe(reach(i) <= ballHalfExtent);
    }
  });

  test('has no colors if its manifest names none', async () => {
    const field = await ballField({ kind, decoder: { color: undefined } });
    expect((await densitiesAt(field, new Float32Array(3)))[0]).toBeGreaterThan(field.threshold);
    expect(field.evaluateColors).toBeUndefined();
  });

  test.each([
    ['+z', '+x', [2, 3, 1]],
    ['+y', '+z', [1, 2, 3]],
    ['-y', '+z', [-1, -2, 3]],
    ['+x', '-z', [2, 1, -3]],
    ['-z', '-y', [-1, -3, -2]],
  ] as const)('with %s up and %s to the front has the colors at the right positions', async (up, front, towards) => {
    const field = await ballField({ kind, decoder: { up, front } });
    // The decoder's color is the position along its own axes. `towards`: the box's axes of the camera's X, Y and Z.
    const colors = new Float32Array(9);
    await field.evaluateColors!(new Float32Array([0.3, 0, 0, 0, 0.3, 0, 0, 0, 0.3]), colors);
    for (const [camera, signed] of towards.entries()) {
      const position = [0, 0, 0];
      position[Math.abs(signed) - 1] = 0.3 * Math.sign(signed);
      for (let axis = 0; axis < 3; axis++) {
        expect(colors[3 * camera + axis]).toBeCloseTo(0.5 + (0.5 * position[axis]!) / ballHalfExtent, 4);
      }
    }
  });
});

test('a triplane sampled here and by the runtime’s GridSample give the same field, up to the border', async () => {
  const planes = await ballField({ kind: 'planes' });
  const points = await ballField({ kind: 'points' });
  const positions = scattered(20_000);
  const [ours, theirs] = [await densitiesAt(planes, positions), await densitiesAt(points, positions)];
  let worst = 0;
  for (let i = 0; i < ours.length; i++) worst = Math.max(worst, Math.abs(ours[i]! - theirs[i]!));
  expect(worst).toBeLessThan(1e-3); // of densities up to 250
});

test('a points graph exported for a fixed number of points gets exactly that number', async () => {
  const free = await ballField({ kind: 'points' });
  const fixed = await ballField({ kind: 'points', points: 1000 });
  const positions = scattered(2500);
  expect(await densitiesAt(fixed, positions)).toEqual(await densitiesAt(free, positions));
});

describe('a bundle is refused', () => {
  test('if its triplane has another number of channels than the manifest says', async () => {
    const opening = open({ kind: 'planes', decoder: { planeChannels: 40 } });
    await expect(opening).rejects.toThrow(BundleError);
    await expect(opening).rejects.toThrow(
      /encoder\.onnx: output "scene_codes" has the shape \[1, 3, 2, 32, 32\], its manifest says \[1, 3, 40, 32, 32\]/,
    );
  });

  test('if its decoder expects other scene codes than the encoder’s', async () => {
    const directory = await writeBallBundle(folder, 'ball', { kind: 'points' });
    const codes = { name: 'scene_codes', shape: [1, 3, 40, 64, 64] };
    const points = { name: 'points', shape: [1, 'P', 3] };
    const decoder = onnxFile({
      inputs: [codes, points],
      outputs: [{ name: 'density', shape: [1, 'P', 1] }],
      nodes: [{ op: 'Identity', inputs: ['points'], outputs: ['density'] }],
    });
    const bundle = await loadBundle(directory);
    await writeFile(join(directory, 'decoder.onnx'), decoder);
    const opening = boxedKind.open({ directory, manifest: bundle.manifest as BoxManifest });
    await expect(opening).rejects.toThrow(
      /decoder\.onnx: input "scene_codes" has the shape \[1, 3, 40, 64, 64\], encoder\.onnx gives \[1, 3, 2, 32, 32\]/,
    );
  });
});
