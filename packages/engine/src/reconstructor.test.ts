import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type BallOptions, writeBallBundle } from './bundle/bundle.fixture.js';
import { bundleOfKind, loadBundle } from './bundle/load-bundle.js';
import { paintCutout } from './photo/cutout.fixture.js';
import { openReconstructor } from './reconstructor.js';

/** The field that a bundle of a ball makes of the photo of a disc. */
async function ballField(options: BallOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'gen3d-reconstructor-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const bundle = await loadBundle(await writeBallBundle(folder, 'ball', options));
  const reconstructor = await openReconstructor(bundleOfKind(bundle, 'reconstruction'));
  onTestFinished(() => reconstructor.release());
  return reconstructor.reconstruct(paintCutout(64, (u, v) => [200, 40, 90, Math.hypot(u, v) < 0.85 ? 255 : 0]));
}

test('the camera is the one of the manifest', async () => {
  const { camera } = await ballField({ kind: 'planes' });
  expect(camera.distance).toBe(1.9);
  expect(camera.halfTangent).toBeCloseTo(Math.tan(Math.PI / 9));
});

test('without a camera in the manifest, the engine finds one whose view of the box fits the outline', async () => {
  // The ball's outline is a circle of 0.85 of the frame, and its radius 0.5.
  const { camera } = await ballField({ kind: 'planes', manifest: { camera: undefined } });
  expect(camera.distance).toBeCloseTo(0.5 / Math.sin(Math.atan(0.85 * Math.tan(Math.PI / 9))), 1);
});
