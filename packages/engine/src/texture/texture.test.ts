import { beforeAll, describe, expect, test } from 'vitest';
import type { Cutout } from '../base/image.js';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { inflate } from '../field/inflate.js';
import { sampleGrid } from '../field/sample-grid.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { clean } from '../surface/clean.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { mirrorsOf } from '../surface/mirror.js';
import { vertexNormals } from '../surface/normals.js';
import { ball, meshOf, torus } from '../surface/shapes.fixture.js';
import { smooth } from '../surface/smooth.js';
import { bake } from './bake.js';
import { padSeams } from './texels.js';
import { unwrap } from './unwrap.js';

const camera = { distance: 3.5, halfTangent: 0.3 };
const textureSize = 512;

/** How many triangles cover each texel center of a texture with `size` texels a side. */
function coverage({ indices, uvs }: TexturedMesh, size: number): Uint8Array {
  const covered = new Uint8Array(size * size);
  for (let t = 0; t < indices.length; t += 3) {
    const [ax, ay, bx, by, cx, cy] = [0, 1, 2].flatMap((c) => [
      uvs[2 * indices[t + c]!]! * size,
      uvs[2 * indices[t + c]! + 1]! * size,
    ]) as [number, number, number, number, number, number];
    for (let y = Math.floor(Math.min(ay, by, cy)); y <= Math.max(ay, by, cy); y++) {
      for (let x = Math.floor(Math.min(ax, bx, cx)); x <= Math.max(ax, bx, cx); x++) {
        const [px, py] = [x + 0.5, y + 0.5];
        const sides = [
          (bx - ax) * (py - ay) - (by - ay) * (px - ax),
          (cx - bx) * (py - by) - (cy - by) * (px - bx),
          (ax - cx) * (py - cy) - (ay - cy) * (px - cx),
        ];
        if (sides.every((side) => side > 1e-3) || sides.every((side) => side < -1e-3)) covered[y * size + x]!++;
      }
    }
  }
  return covered;
}

const shapes: [string, TriangleMesh][] = [
  ['a ball', meshOf(40, ball(0.8))],
  ['a ring', meshOf(48, torus(0.6, 0.2))],
  [
    'a handle in front of a body',
    meshOf(56, (x, y, z) => Math.max(ball(0.5, 0, 0, -0.2)(x, y, z), torus(0.4, 0.09)(z - 0.2, y, x))),
  ],
  [
    'a corkscrew that hides behind itself',
    meshOf(64, (x, y, z) => {
      const turn = Math.atan2(z, x);
      const rise = y - 0.1 * turn;
      const pitch = 0.2 * Math.PI;
      return 0.1 - Math.hypot(Math.hypot(x, z) - 0.5, rise - pitch * Math.round(rise / pitch));
    }),
  ],
];

describe.each(shapes)('unwrapping %s', (_, shape) => {
  const closed = clean(shape);

  test('keeps every triangle, without overlaps in the texture', async () => {
    const mesh = unwrap(closed, vertexNormals(closed), camera, textureSize);
    expect(mesh.indices).toHaveLength(closed.indices.length);
    expect(mesh.uvs.every((value) => value >= 0 && value <= 1)).toBe(true);
    const covered = coverage(mesh, 1024);
    const used = covered.filter((count) => count > 0).length;
    expect(covered.filter((count) => count > 1).length).toBeLessThan(used * 2e-3);
    expect(used / covered.length).toBeGreaterThan(0.3);
  });

  test('splits vertices only on seams, without moving them', async () => {
    const mesh = unwrap(closed, vertexNormals(closed), camera, textureSize);
    const isMoved = (vertex: number, i: number) =>
      [0, 1, 2].some((axis) => mesh.positions[3 * vertex + axis] !== closed.positions[3 * closed.indices[i]! + axis]);
    expect(mesh.indices.filter(isMoved)).toHaveLength(0);
    expect(mesh.positions.length).toBeLessThan(1.6 * closed.positions.length);
  });
});

test('triangles without area take no space in the texture, even where charts meet', async () => {
  const closed = withNeedles(clean(meshOf(40, ball(0.8))), 5);
  const mesh = unwrap(closed, vertexNormals(closed), camera, textureSize);
  expect(mesh.indices).toHaveLength(closed.indices.length);
  const covered = coverage(mesh, 1024);
  const used = covered.filter((count) => count > 0).length;
  expect(covered.filter((count) => count > 1).length).toBeLessThan(used * 2e-3);
});

/** The mesh with an extra vertex on an edge of each n-th triangle, and a triangle without area along that edge. */
function withNeedles({ positions, indices }: TriangleMesh, n: number): TriangleMesh {
  const points = [...positions];
  const corners: number[] = [];
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = indices.subarray(t, t + 3) as unknown as [number, number, number];
    if (t % (3 * n) !== 0) corners.push(a, b, c);
    else {
      const middle = points.length / 3;
      for (let axis = 0; axis < 3; axis++) points.push((positions[3 * a + axis]! + positions[3 * b + axis]!) / 2);
      corners.push(a, middle, c, middle, b, c, a, b, middle);
    }
  }
  return { positions: Float32Array.from(points), indices: Uint32Array.from(corners) };
}

/** Bakes a cutout's inflated shape. @returns the color at the vertex nearest to a direction */
async function bakedBall(cutout: Cutout) {
  const field = inflate(cutout);
  const closed = smooth(clean(marchingCubes(await sampleGrid(field, 64), field.threshold)), 5);
  const normals = vertexNormals(closed);
  const mesh = unwrap(closed, normals, field.camera, textureSize);
  const texture = bake(mesh, closed, normals, cutout, field.camera, { textureSize });
  return (x: number, y: number, z: number): number[] => {
    let [best, nearest] = [-Infinity, 0];
    for (let i = 0; i < mesh.normals.length; i += 3) {
      const cosine = mesh.normals[i]! * x + mesh.normals[i + 1]! * y + mesh.normals[i + 2]! * z;
      if (cosine > best) [best, nearest] = [cosine, i / 3];
    }
    const column = Math.min(Math.floor(mesh.uvs[2 * nearest]! * texture.width), texture.width - 1);
    const row = Math.min(Math.floor(mesh.uvs[2 * nearest + 1]! * texture.height), texture.height - 1);
    return [...texture.data.subarray(4 * (row * texture.width + column), 4 * (row * texture.width + column) + 3)];
  };
}

describe('the base color texture', () => {
  const red = [200, 30, 30] as const;
  const blue = [30, 30, 200] as const;
  let colorAt: Awaited<ReturnType<typeof bakedBall>>;
  beforeAll(async () => {
    colorAt = await bakedBall(paintCutout(256, (u, v) => [...(u < 0 ? red : blue), Math.hypot(u, v) < 0.8 ? 255 : 0]));
  });

  test("has the photo's left and right on the left and right of the visible side", () => {
    for (const [direction, wanted] of [
      [-0.5, red],
      [0.5, blue],
    ] as const) {
      colorAt(direction, 0, 0.87).forEach((value, c) => {
        expect(Math.abs(value - wanted[c]!)).toBeLessThan(6);
      });
    }
  });

  test('continues the same colors on the far side', () => {
    for (const [direction, wanted] of [
      [-0.5, red],
      [0.5, blue],
    ] as const) {
      colorAt(direction, 0, -0.87).forEach((value, c) => {
        expect(Math.abs(value - wanted[c]!)).toBeLessThan(25);
      });
    }
  });

  test('has no background at the rim of the object', async () => {
    // As `frame` makes it, the object's color extends slightly beyond the matte. The rest is white.
    const ringed = paintCutout(256, (u, v) =>
      Math.hypot(u, v) < 0.85 ? [...red, Math.hypot(u, v) < 0.8 ? 255 : 0] : [255, 255, 255, 0],
    );
    const ringedColorAt = await bakedBall(ringed);
    for (const direction of [
      [1, 0, 0],
      [-1, 0, 0],
      [0, 1, 0],
      [0, -1, 0],
      [0.7, 0.7, 0],
    ] as const) {
      expect(ringedColorAt(direction[0], direction[1], 0)[1]).toBeLessThan(60);
    }
  });
});

test("marks among the decoder's colors fade where the photo shows nothing", () => {
  const closed = clean(meshOf(24, ball(0.8)));
  const normals = vertexNormals(closed);
  const mesh = unwrap(closed, normals, camera, textureSize);
  const red = [200, 30, 30] as const;
  const cutout = paintCutout(256, () => [...red, 255]);
  // A blue eye in the middle of the far side, as a network repeats one of the front.
  const isEye = (vertex: number) => closed.positions[3 * vertex + 2]! < -0.78;
  const decoderColors = closed.positions.map(
    (_, i) => (isEye(Math.floor(i / 3)) ? [0, 0, 1] : red.map((c) => c / 255))[i % 3]!,
  );
  const { width, data } = bake(mesh, closed, normals, cutout, camera, {
    ...{ textureSize, decoderColors, decoderRepeatsFront: true },
  });
  let farthest = 0;
  for (let i = 0; i < mesh.positions.length / 3; i++) {
    if (mesh.positions[3 * i + 2]! < mesh.positions[3 * farthest + 2]!) farthest = i;
  }
  const [column, row] = [mesh.uvs[2 * farthest]! * width, mesh.uvs[2 * farthest + 1]! * width].map(Math.floor);
  const [r, , b] = data.subarray(4 * (row! * width + column!), 4 * (row! * width + column!) + 3);
  expect(r).toBeGreaterThan(150);
  expect(b).toBeLessThan(130);
});

describe('the base color of the hidden side of a slanted egg', () => {
  const red = [200, 30, 30] as const;
  const blue = [30, 30, 200] as const;
  // Its axis is 30 degrees from the view and its near end is on the right, so the photo shows both sides, one at a
  // slant.
  const [sin, cos] = [0.5, Math.sqrt(0.75)];
  const egg = meshOf(64, (x, y, z) => {
    const [length, depth] = [sin * x + cos * z, sin * z - cos * x];
    const width = 1 - 0.35 * length;
    return 0.35 - Math.hypot(length / 2, y / width, depth / width);
  });
  const view = { distance: 3.5, halfTangent: 0.28 };

  /** The color in the middle of the hidden side. */
  async function farSide(paint: (u: number) => readonly [number, number, number]): Promise<number[]> {
    const cutout = paintCutout(256, (u) => [...paint(u), 255]);
    const normals = vertexNormals(egg);
    const mesh = unwrap(egg, normals, view, textureSize);
    const mirrors = mirrorsOf(egg, { elevation: 0, roll: 0 });
    const [mirror] = mirrors;
    expect(Math.abs(sin * mirror!.normal[2] - cos * mirror!.normal[0])).toBeGreaterThan(0.99);
    const { width, data } = bake(mesh, egg, normals, cutout, view, { textureSize, mirrors });
    let [furthest, vertex] = [-Infinity, 0];
    for (let i = 0; i < mesh.positions.length; i += 3) {
      const [x, z] = [mesh.positions[i]!, mesh.positions[i + 2]!];
      const far = cos * x - sin * z - Math.abs(sin * x + cos * z);
      if (far > furthest) [furthest, vertex] = [far, i / 3];
    }
    const [column, row] = [mesh.uvs[2 * vertex]! * width, mesh.uvs[2 * vertex + 1]! * width].map(Math.floor);
    return [...data.subarray(4 * (row! * width + column!), 4 * (row! * width + column!) + 3)];
  }

  test('is that of the visible side across the plane of symmetry', async () => {
    // The position is in the blue half of the photo, and its mirror image is red.
    const color = await farSide((u) => (u < 0 ? red : blue));
    expect(Math.abs(color[0]! - red[0])).toBeLessThan(30);
    expect(color[2]).toBeLessThan(70);
  });

  test('is not mirrored if the two sides differ in color in the photo', async () => {
    const striped = (u: number) => (u < 0 ? red : u % 0.2 < 0.1 ? ([250, 250, 250] as const) : blue);
    const color = await farSide(striped);
    expect(color[2]).toBeGreaterThan(100);
  });
});

test('texels between charts have the color of the nearest chart, and charts keep theirs', () => {
  const size = 16;
  const [first, last] = [Float32Array.of(0.2, 0.4, 0.6), Float32Array.of(0.9, 0.8, 0.7)];
  const covered = new Uint8Array(size * size);
  covered[0] = covered[size * size - 1] = 1;
  const colors = new Float32Array(3 * size * size);
  colors.set(first);
  colors.set(last, colors.length - 3);
  padSeams(colors, covered, size);
  expect(colors.subarray(0, 3)).toEqual(first);
  expect(colors.subarray(3, 6)).toEqual(first);
  expect(colors.subarray(-3)).toEqual(last);
});
