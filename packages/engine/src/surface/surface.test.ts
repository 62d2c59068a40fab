import { describe, expect, test } from 'vitest';
import type { TriangleMesh } from '../base/mesh.js';
import { seededRandom } from '../random-cases.fixture.js';
import { clean } from './clean.js';
import { marchingCubes } from './marching-cubes.js';
import { mirrorsOf } from './mirror.js';
import { vertexNormals } from './normals.js';
import { estimateElevation, pose } from './pose.js';
import { ball, gridOf, meshOf, torus } from './shapes.fixture.js';
import { simplify } from './simplify.js';
import { smooth } from './smooth.js';
import { enclosedVolume } from './topology.fixture.js';
import { nonManifoldVertices } from './topology.js';

const eulerCharacteristic = (mesh: TriangleMesh) => mesh.positions.length / 3 - mesh.indices.length / 6;

describe('marching cubes', () => {
  test('a sphere of radius 0.5 encloses its true volume within 1 % and winds outwards', () => {
    const mesh = marchingCubes(gridOf(48, ball(0.5)), 0);
    expect(enclosedVolume(mesh) / ((4 / 3) * Math.PI * 0.5 ** 3)).toBeCloseTo(1, 2);
    expect(eulerCharacteristic(mesh)).toBe(2);
  });

  test.each([1, 2])('white noise, which has every ambiguous cell, gives a closed 2-manifold (seed %i)', (seed) => {
    const noise = seededRandom(seed);
    const mesh = meshOf(20, () => noise() - 0.5);
    expect(mesh.indices.length).toBeGreaterThan(10_000);
    expect(nonManifoldVertices(mesh)).toHaveLength(0);
  });

  test('a density that never crosses gives an empty mesh', () => {
    expect(meshOf(5, () => -1).indices).toHaveLength(0);
  });

  test('NaN is refused', () => {
    expect(() => meshOf(5, () => Number.NaN)).toThrow(RangeError);
  });
});

const triangles = (mesh: TriangleMesh) => mesh.indices.length / 3;

describe('clean', () => {
  test('keeps a thin part without a connection, such as the leg of a chair', () => {
    const rod = (x: number, y: number, z: number) => Math.min(0.04 - Math.hypot(x - 0.7, z), 0.4 - Math.abs(y));
    const seat = ball(0.5, -0.3);
    const object = meshOf(64, (x, y, z) => Math.max(seat(x, y, z), rod(x, y, z)));
    expect(triangles(clean(object))).toBe(triangles(object));
    expect(triangles(object)).toBeGreaterThan(triangles(meshOf(64, seat)));
  });

  test('drops only an island next to the object and a cavity inside it', () => {
    const object = ball(0.5, -0.3);
    const [island, cavity, second] = [ball(0.045, 0.8), ball(0.2, -0.3), ball(0.2, 0.6, 0.6)];
    const dirty = meshOf(64, (x, y, z) =>
      Math.max(Math.min(object(x, y, z), -cavity(x, y, z)), island(x, y, z), second(x, y, z)),
    );
    const wanted = meshOf(64, (x, y, z) => Math.max(object(x, y, z), second(x, y, z)));
    expect(triangles(clean(dirty))).toBe(triangles(wanted));
    expect(clean(dirty).positions).toHaveLength(wanted.positions.length);
  });
});

describe('smooth', () => {
  test('removes the roughness of a ball and keeps its volume within 1 %', () => {
    const rough = meshOf(48, (x, y, z) => ball(0.6)(x, y, z) + 0.02 * Math.sin(60 * x) * Math.sin(60 * y));
    const fair = smooth(rough, 10);
    const roughness = ({ positions }: TriangleMesh) => {
      const radii = Array.from({ length: positions.length / 3 }, (_, i) =>
        Math.hypot(...positions.subarray(3 * i, 3 * i + 3)),
      );
      const mean = radii.reduce((a, b) => a + b) / radii.length;
      return Math.sqrt(radii.reduce((sum, radius) => sum + (radius - mean) ** 2, 0) / radii.length);
    };
    expect(roughness(fair)).toBeLessThan(roughness(rough) / 2);
    expect(enclosedVolume(fair) / enclosedVolume(rough)).toBeCloseTo(1, 2);
  });
});

describe('simplify', () => {
  test('simplifies a crumpled ball, except in the regions that fold', { timeout: 60_000 }, async () => {
    const random = seededRandom(1);
    const crumpled = smooth(
      meshOf(64, (...at) => ball(0.7)(...at) + 0.2 * random() - 0.1),
      10,
    );
    const { mesh } = await simplify(crumpled, 40_000, 0.01);
    expect(nonManifoldVertices(mesh)).toHaveLength(0);
    expect(triangles(mesh)).toBeLessThan(0.7 * triangles(crumpled));
  });

  test('leaves a third of the triangles of a ball, closed and of the same volume within 1 %', async () => {
    const mesh = meshOf(96, ball(0.8));
    expect(triangles(mesh)).toBeGreaterThan(30_000);
    const { mesh: simplified } = await simplify(mesh, 10_000, 0.01);
    expect(triangles(simplified)).toBeLessThanOrEqual(10_000);
    expect(nonManifoldVertices(simplified)).toHaveLength(0);
    expect(Math.abs(enclosedVolume(simplified) / enclosedVolume(mesh) - 1)).toBeLessThan(0.01);
  });

  test.each([0.04, 0.09])('does not tear or fold a thin ring of thickness %f', async (thickness) => {
    const ring = meshOf(160, torus(0.7, thickness));
    const { mesh: simplified } = await simplify(ring, 40_000, 0.01);
    expect(triangles(simplified)).toBeLessThan(triangles(ring));
    expect(nonManifoldVertices(simplified)).toHaveLength(0);
    expect(simplified.positions.length / 3 - simplified.indices.length / 6).toBe(0); // still a ring
  });

  test('does not change a mesh within its budget', async () => {
    const mesh = meshOf(16, ball(0.8));
    expect((await simplify(mesh, 100_000, 0.01)).mesh).toBe(mesh);
  });

  test('keeps a ball within the tolerance, and more of its triangles the smaller the tolerance is', async () => {
    const mesh = smooth(meshOf(128, ball(0.8)), 5);
    const [near, far] = await Promise.all([0.002, 0.008].map((tolerance) => simplify(mesh, 40_000, tolerance)));
    expect(triangles(far!.mesh)).toBeLessThan(0.8 * triangles(near!.mesh));
    const { positions } = far!.mesh;
    for (let i = 0; i < positions.length; i += 3) {
      expect(Math.abs(Math.hypot(...positions.subarray(i, i + 3)) - 0.8)).toBeLessThan(0.008);
    }
  });
});

describe('vertexNormals', () => {
  test("point away from a ball's center within 3 degrees", () => {
    const { positions, indices } = smooth(meshOf(48, ball(0.7)), 5);
    const normals = vertexNormals({ positions, indices });
    for (let i = 0; i < positions.length; i += 3) {
      const length = Math.hypot(positions[i]!, positions[i + 1]!, positions[i + 2]!);
      const cosine =
        (positions[i]! * normals[i]! + positions[i + 1]! * normals[i + 1]! + positions[i + 2]! * normals[i + 2]!) /
        length;
      expect(cosine).toBeGreaterThan(Math.cos((3 * Math.PI) / 180));
    }
  });
});

const degree = Math.PI / 180;

/** A mesh that is turned counterclockwise in the photo. */
function turnedInPhoto(mesh: TriangleMesh, radians: number): TriangleMesh {
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
  const positions = mesh.positions.slice();
  for (let i = 0; i < positions.length; i += 3) {
    const [x, y] = [positions[i]!, positions[i + 1]!];
    positions.set([cos * x - sin * y, sin * x + cos * y], i);
  }
  return { ...mesh, positions };
}

/** A stool with four legs in the frame of a camera that looks down on it by `elevation`. */
function stoolSeenFrom(elevation: number): TriangleMesh {
  const [sin, cos] = [Math.sin(elevation), Math.cos(elevation)];
  return meshOf(96, (x, cameraY, cameraZ) => {
    const [y, z] = [cos * cameraY + sin * cameraZ, cos * cameraZ - sin * cameraY];
    const seat = 0.5 - Math.max(Math.abs(x), Math.abs(z), 8 * Math.abs(y - 0.3));
    const leg = Math.min(
      0.07 - Math.max(Math.abs(Math.abs(x) - 0.4), Math.abs(Math.abs(z) - 0.4)),
      0.6 - Math.abs(y + 0.1) - 0.1,
    );
    return Math.max(seat, leg);
  });
}

describe('upright', () => {
  test.each([5, 15, 30])(
    'estimates the angle of a stool photographed from %i degrees above within 4 degrees',
    (degrees) => {
      const found = estimateElevation(stoolSeenFrom((degrees * Math.PI) / 180).positions);
      expect(Math.abs((found * 180) / Math.PI - degrees)).toBeLessThan(4);
    },
  );

  test('uses the reconstructor’s estimate for a ball, which stands equally well at any angle', () => {
    const ball = meshOf(48, (x, y, z) => 0.6 - Math.hypot(x, y, z));
    const found = estimateElevation(ball.positions, { radians: 0.4, spreadRadians: 0.1 });
    expect(Math.abs(found - 0.4)).toBeLessThan(0.1);
  });

  test('places a stool on its feet although the reconstructor’s estimate is 8 degrees too low', () => {
    const radians = Math.PI / 12;
    const found = estimateElevation(stoolSeenFrom(radians).positions, { radians: radians - 0.14, spreadRadians: 0.12 });
    expect(Math.abs(found - radians)).toBeLessThan(0.07);
  });

  test('uses a certain elevation unchanged', () => {
    expect(estimateElevation(stoolSeenFrom(0.3).positions, { radians: 0, spreadRadians: 0 })).toBe(0);
  });

  test.each([0, 5])(
    'poses a model on y = 0, centered in x and z, one meter long, with upright legs, if the photo is %i degrees off',
    (roll) => {
      const [elevation, radians] = [20 * degree, roll * degree];
      const mesh = turnedInPhoto(stoolSeenFrom(elevation), radians);
      const unposed = { ...mesh, normals: vertexNormals(mesh), uvs: new Float32Array() };
      const { model } = pose(unposed, { elevation, roll: radians });
      const { positions } = model;
      const along = (axis: number) => positions.filter((_, i) => i % 3 === axis).sort();
      const [x, y, z] = [along(0), along(1), along(2)];
      expect(y[0]).toBeCloseTo(0);
      expect(x[0]! + x.at(-1)!).toBeCloseTo(0);
      expect(z[0]! + z.at(-1)!).toBeCloseTo(0);
      expect(Math.max(x.at(-1)! - x[0]!, y.at(-1)!, z.at(-1)! - z[0]!)).toBeCloseTo(1);
      // All four feet touch the ground.
      const feet = new Set<string>();
      for (let i = 0; i < positions.length; i += 3) {
        if (positions[i + 1]! < 0.03) feet.add(`${Math.sign(positions[i]!)} ${Math.sign(positions[i + 2]!)}`);
      }
      expect(feet.size).toBe(4);
    },
  );
});

/** A cross of two bars, rotated around Y. The second bar is across the far half of the first. */
const cross = (turn: number) => {
  const [sin, cos] = [Math.sin(turn), Math.cos(turn)];
  return meshOf(64, (x, y, z) => {
    const [across, ahead] = [cos * x - sin * z, sin * x + cos * z];
    const bar = 0.12 - Math.hypot(across, y, Math.max(Math.abs(ahead) - 0.65, 0));
    const beam = 0.12 - Math.hypot(Math.max(Math.abs(across) - 0.4, 0), y, ahead - 0.35);
    return Math.max(bar, beam);
  });
};

const level = { elevation: 0, roll: 0 };

describe('mirrorsOf', () => {
  test.each([0, 35, 130])('finds the plane through the long bar of a cross turned by %i degrees', (turn) => {
    const [found] = mirrorsOf(cross(turn * degree), level);
    const across = found!.normal[0] * Math.cos(turn * degree) - found!.normal[2] * Math.sin(turn * degree);
    expect(Math.abs(across)).toBeGreaterThan(0.998);
    expect(Math.abs(found!.offset)).toBeLessThan(0.02);
  });

  test('finds the plane through the long bar of a cross in a photo that is not level', () => {
    const [found] = mirrorsOf(turnedInPhoto(cross(0), 0.2), { elevation: 0, roll: 0.2 });
    const { normal, offset } = found!;
    expect(Math.abs(normal[0] * Math.cos(0.2) + normal[1] * Math.sin(0.2))).toBeGreaterThan(0.998);
    expect(Math.abs(offset)).toBeLessThan(0.02);
  });

  test('finds no plane in a corkscrew', () => {
    const corkscrew = meshOf(64, (x, y, z) => {
      const rise = y - 0.25 * Math.atan2(z, x);
      return 0.12 - Math.hypot(Math.hypot(x, z) - 0.5, rise);
    });
    expect(mirrorsOf(corkscrew, level)).toEqual([]);
  });

  test('leaves out planes that separate the front from the back', () => {
    for (const { normal } of mirrorsOf(cross(90 * degree), level)) {
      expect(Math.abs(normal[2])).toBeLessThan(Math.cos(29 * degree));
    }
  });

  test('finds no plane in a bottle, which every upright plane mirrors', () => {
    const bottle = meshOf(64, (x, y, z) => {
      const radius = y < 0.2 ? 0.35 : 0.14;
      // Dents that wind around the bottle: no plane mirrors them, as none mirrors the errors of a reconstruction.
      const dent = 0.02 * Math.sin(3 * Math.atan2(z, x) + 12 * y);
      return Math.min(radius + dent - Math.hypot(x, z), 0.7 - Math.abs(y));
    });
    expect(mirrorsOf(bottle, level)).toEqual([]);
  });
});
