import { beforeAll, describe, expect, test } from 'vitest';
import type { DensityField } from '../field/density-field.js';
import { prepareView } from './prepared-view.js';
import { register } from './register.js';
import { type FusedPhotos, fusePhotos } from './several-photos.js';
import { block, painted, predictTaken, type Shape, type Taken, take, tower, toy, union } from './sides.fixture.js';
import { pointOnRay, rotationOf, type ViewCamera } from './view-camera.js';

const degree = Math.PI / 180;

/** The angles at which the photos were taken, in degrees: quarter turns by hand. */
const front = take(toy, 'front', 12, 15);
const left = take(toy, 'left', -84, 10);
const back = take(toy, 'back', 186, 20);
const right = take(toy, 'right', 95, 12);

const fuse = (...photos: readonly [Taken, ...Taken[]]) => fusePhotos(predictTaken(photos), photos);

async function densityAt(field: DensityField, points: readonly number[]): Promise<Float32Array> {
  const density = new Float32Array(points.length / 3);
  await field.evaluate(Float32Array.from(points), density);
  return density;
}

/** The share of points near a shape that a field has on the right side of its surface. */
async function shareRight(shape: Shape, { field, used }: FusedPhotos, camera: ViewCamera): Promise<number> {
  const points: number[] = [];
  const inside: boolean[] = [];
  const point = new Float64Array(3);
  for (let i = 0; i < 4000; i++) {
    const [u, v, w] = [0.754877666, 0.569840291, 0.430159709].map((step) => ((i * step) % 1) * 2 - 1);
    // The same ray and depth in the camera that took the photo, and in the one that was found.
    pointOnRay(camera, 0.8 * u!, 0.8 * v!, 0.5 * w!, point);
    inside.push(shape(point[0]!, point[1]!, point[2]!) > 0);
    const found = used[0]?.camera ?? field.camera;
    const scale = (found.distance * found.halfTangent) / (camera.distance * camera.halfTangent);
    const z = 0.5 * w! * scale;
    const frame = (found.distance - z) * found.halfTangent;
    points.push(0.8 * u! * frame, -0.8 * v! * frame, z);
  }
  const density = await densityAt(field, points);
  return inside.filter((is, i) => is === density[i]! > field.threshold).length / inside.length;
}

const trueFront: ViewCamera = {
  rotation: rotationOf(12 * degree, 15 * degree, 0),
  ...{ x: 0, y: 0, distance: 2, halfTangent: 0.3, reliefOffset: 0, reliefScale: 1, tiltU: 0, tiltV: 0 },
};

describe('three photos of a toy', () => {
  let fused: FusedPhotos;
  beforeAll(async () => {
    fused = await fuse(front, left, back);
  });

  test('are all used, with the turns and elevations at which they were taken within eight degrees', () => {
    expect(fused.used.map(({ side }) => side)).toEqual(['front', 'left', 'back']);
    const turns = [0, -96, 174];
    const elevations = [15, 10, 20];
    for (const [i, { yawRadians, elevationRadians }] of fused.used.entries()) {
      const off = yawRadians / degree - turns[i]!;
      expect(Math.abs(off - 360 * Math.round(off / 360))).toBeLessThan(8);
      expect(Math.abs(elevationRadians / degree - elevations[i]!)).toBeLessThan(8);
    }
  });

  test('give a shape that is closer to the toy than that of the front alone', async () => {
    const alone = await shareRight(toy, await fuse(front), trueFront);
    const together = await shareRight(toy, fused, trueFront);
    expect(together).toBeGreaterThan(0.955);
    expect(1 - together).toBeLessThan(0.75 * (1 - alone));
  });

  test('give a shape with the outline of the front photo', async () => {
    const { field, used } = fused;
    const { camera, view } = used[0]!;
    const across = 64;
    let [same, all] = [0, 0];
    const point = new Float64Array(3);
    for (let ray = 0; ray < across * across; ray++) {
      const [u, v] = [ray % across, Math.floor(ray / across)].map((at) => ((at + 0.5) / across) * 2 - 1);
      const points: number[] = [];
      for (let z = field.bounds.max[2]; z > field.bounds.min[2]; z -= 0.01) {
        pointOnRay(camera, u!, v!, z, point);
        points.push(...point);
      }
      const isHit = (await densityAt(field, points)).some((density) => density > field.threshold);
      const pixel = Math.floor(((v! + 1) * 256) / 2) * 256 + Math.floor(((u! + 1) * 256) / 2);
      const isShown = view.prediction.fineMatte[pixel]! > 0.5;
      if (isHit || isShown) all++;
      if (isHit && isShown) same++;
    }
    expect(same / all).toBeGreaterThan(0.93);
  });
});

test('a photo of the right that is given as the left is recognized', () => {
  const views = [front, right].map(({ cutout, photoWidth, prediction }) => prepareView(cutout, photoWidth, prediction));
  const azimuths = register(views, [0, -Math.PI / 2]).cameras.map(({ rotation }) =>
    Math.atan2(rotation[6]!, rotation[8]!),
  );
  expect(Math.abs((azimuths[1]! - azimuths[0]!) / degree - 83)).toBeLessThan(8);
});

test('a photo of another object is left out, and the other one is used', { timeout: 60_000 }, async () => {
  const { used } = await fuse(front, left, take(tower, 'back', 180, 15));
  expect(used.map(({ side }) => side)).toEqual(['front', 'left']);
});

test('if the only other photo shows another object, the field is that of the front', { timeout: 60_000 }, async () => {
  const { field, used } = await fuse(front, take(tower, 'left', -90, 15));
  expect(used).toEqual([]);
  const alone = (await fuse(front)).field;
  expect([field.bounds, field.camera]).toEqual([alone.bounds, alone.camera]);
});

test('if all photos show other objects, the field is that of the front', { timeout: 60_000 }, async () => {
  const post = (x: number, y: number, z: number) =>
    Math.min(0.06 - Math.abs(x), 0.45 - Math.abs(y), 0.06 - Math.abs(z));
  const posts: Shape = (x, y, z) => Math.max(post(x - 0.4, y, z), post(x + 0.4, y, z));
  const plate = (x: number, y: number, z: number) => Math.min(0.4 - Math.abs(x), 0.05 - Math.abs(y), 0.4 - Math.abs(z));
  const plates: Shape = (x, y, z) => Math.max(plate(x, y - 0.35, z), plate(x, y + 0.35, z));
  const { used } = await fuse(take(posts, 'front', 0, 10), take(plates, 'left', -90, 10), take(post, 'back', 180, 10));
  expect(used).toEqual([]);
});

test('a photo of a similar shape is used in the colors of the front, and left out in others', async () => {
  const taller = take(union(toy, block(0, 0.22, -0.25, 0.1, 0.25, 0.1)), 'left', -84, 10);
  const gray = painted(front, [120, 120, 120]);
  const sidesOf = async (photo: Taken) => (await fuse(gray, photo)).used.map(({ side }) => side);
  expect(await sidesOf(painted(taller, [120, 120, 120]))).toEqual(['front', 'left']);
  expect(await sidesOf(painted(taller, [200, 40, 30]))).toEqual([]);
});

test('the photo of the front given again as the back is left out', async () => {
  const again: Taken = { ...front, side: 'back', cutout: { ...front.cutout } };
  const { used } = await fuse(front, again, left);
  expect(used.map(({ side }) => side)).toEqual(['front', 'left']);
});

test('an aborted signal stops the work', async () => {
  const photos = [front, left] as const;
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(fusePhotos(predictTaken(photos), photos, signal)).rejects.toThrow('enough');
});
