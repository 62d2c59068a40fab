import { describe, expect, test } from 'vitest';
import { sphere } from '../../engine/src/render/shapes.fixture.js';
import { enclosedVolume } from '../../engine/src/surface/topology.fixture.js';
import { cutFlatFoot } from '../src/flat-foot.js';
import type { ModelPart } from '../src/index.js';
import { openEdges, weld } from '../src/weld.js';
import { part } from './part.js';

type Point = readonly [radius: number, height: number];

/** Turns an outline, which is counterclockwise with the axis to its left, around the Y axis. */
function turned(outline: readonly Point[], segments: number): ModelPart {
  const positions = Array.from({ length: segments }, (_, segment) => (2 * Math.PI * segment) / segments).flatMap(
    (angle) => outline.flatMap(([radius, height]) => [radius * Math.sin(angle), height, radius * Math.cos(angle)]),
  );
  const rows = outline.length;
  const indices: number[] = [];
  for (let segment = 0; segment < segments; segment++) {
    for (let row = 0; row < rows; row++) {
      const [a, b] = [segment * rows + row, segment * rows + ((row + 1) % rows)];
      const [c, d] = [((segment + 1) % segments) * rows + row, ((segment + 1) % segments) * rows + ((row + 1) % rows)];
      indices.push(a, c, d, a, d, b);
    }
  }
  return part(positions, indices);
}

const isClosed = (parts: readonly ModelPart[]) => openEdges(weld(parts)).length === 0;
const bottomOf = (parts: readonly ModelPart[]) => weld(parts).min[1];

/** Positive if the surface is not inside out. */
function volumeOf(parts: readonly ModelPart[]): number {
  const { positions, triangles } = weld(parts);
  return enclosedVolume({ positions: Float32Array.from(positions), indices: triangles });
}

describe('a flat foot', () => {
  test('is the disc that is cut from a ball, with the volume that is left, at the place of the old bottom', () => {
    const { positions, uvs, normals, indices } = sphere(50, 45);
    const ball: ModelPart = {
      positions: positions.map((value) => Math.round(1e4 * value) / 1e4),
      uvs,
      colors: undefined,
      normals,
      indices,
      material: 0,
    };
    const { parts, height, area, stands } = cutFlatFoot({ parts: [ball] });
    expect(isClosed(parts)).toBe(true);
    expect(bottomOf(parts)).toBeCloseTo(0, 4);
    // 10° need a disc with a radius of 50 mm · tan(10°).
    expect([height, stands]).toEqual([expect.closeTo(1, 5), true]);
    expect(area / (Math.PI * (2 * 50 * height - height ** 2))).toBeCloseTo(1, 1);
    const cap = (Math.PI * height ** 2 * (150 - height)) / 3;
    expect(volumeOf(parts) / (volumeOf([ball]) - cap)).toBeCloseTo(1, 4);
    // The texture reaches the cut.
    expect(parts[0]!.uvs!.length / 2).toBe(parts[0]!.positions.length / 3);
    expect(parts[0]!.normals!.length).toBe(parts[0]!.positions.length);
  });

  test('of a tube is a ring', () => {
    const tube = turned(
      [
        [10, 0],
        [12, 0],
        [14, 20],
        [10, 20],
      ],
      60,
    );
    expect(volumeOf([tube])).toBeGreaterThan(0);
    const { parts, height, area } = cutFlatFoot({ parts: [tube] });
    expect(isClosed(parts)).toBe(true);
    expect(area).toBeCloseTo((60 / 2) * Math.sin((2 * Math.PI) / 60) * ((12 + height / 10) ** 2 - 100), 3);
    // Without overlaps: the triangles of the foot have together its area.
    const foot = weld(parts.slice(1));
    let sum = 0;
    for (let at = 0; at < foot.triangles.length; at += 3) {
      const [a, b, c] = [0, 1, 2].map((corner) =>
        foot.positions.slice(3 * foot.triangles[at + corner]!, 3 * foot.triangles[at + corner]! + 3),
      );
      sum += Math.abs((b![0]! - a![0]!) * (c![2]! - a![2]!) - (c![0]! - a![0]!) * (b![2]! - a![2]!)) / 2;
    }
    expect(sum).toBeCloseTo(area, 5);
  });

  test('has one piece for each leg, also if their cut edges are straight', () => {
    // Each side is cut at three points of a straight line.
    const side = (x: number, z: number) => [-1, 0, 1].map((step) => [x === 0 ? step : x, z === 0 ? step : z] as const);
    const ring = [
      ...side(0, 1).slice(0, 2),
      ...side(1, 0).reverse().slice(0, 2),
      ...side(0, -1).reverse().slice(0, 2),
      ...side(-1, 0).slice(0, 2),
    ];
    const prism = (offset: number): ModelPart => {
      const positions = [0, 10].flatMap((y) => ring.flatMap(([x, z]) => [x + offset, y, z]));
      const indices = ring.flatMap((_, at) => {
        const next = (at + 1) % 8;
        return [at, next, 8 + next, at, 8 + next, 8 + at];
      });
      const ends = Array.from({ length: 6 }, (_, at) => [0, at + 2, at + 1, 8, 8 + at + 1, 8 + at + 2]).flat();
      return part(positions, [...indices, ...ends]);
    };
    const legs = [prism(0), prism(30)];
    const oriented =
      volumeOf(legs) > 0 ? legs : legs.map((leg) => ({ ...leg, indices: leg.indices.slice().reverse() }));
    expect(isClosed(oriented)).toBe(true);
    const { parts, area, stands } = cutFlatFoot({ parts: oriented });
    expect(isClosed(parts)).toBe(true);
    expect(area).toBeCloseTo(8, 5);
    expect(stands).toBe(true);
    expect(volumeOf(parts)).toBeCloseTo(8 * 9.95, 3);
  });

  test('is at most 5 % of the height, and whether the model stands is stated', () => {
    const top = turned(
      [
        [0, 0],
        [10, 100],
        [0, 100],
      ],
      40,
    );
    const { parts, height, stands } = cutFlatFoot({ parts: [top] });
    expect([height, stands]).toEqual([expect.closeTo(5, 4), false]);
    expect(isClosed(parts)).toBe(true);
  });
});
