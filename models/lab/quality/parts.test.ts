import { expect, test } from 'vitest';
import { countParts, countRegions } from './parts.mjs';

/** A tetrahedron at `x`, whose corners are split. */
function tetrahedron(x: number) {
  const corners = [
    [x, 0, 0],
    [x + 1, 0, 0],
    [x, 1, 0],
    [x, 0, 1],
  ];
  return [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3].flatMap((corner) => corners[corner]!);
}

const meshOf = (positions: number[]) => ({
  positions: Float32Array.from(positions),
  indices: Uint32Array.from({ length: positions.length / 3 }, (_, i) => i),
});

test('parts are counted by topology, and split vertices are one', () => {
  expect(countParts(meshOf(tetrahedron(0)))).toBe(1);
  expect(countParts(meshOf([...tetrahedron(0), ...tetrahedron(2)]))).toBe(2);
});

test('regions of an outline that touch at a corner are one, and others are not', () => {
  const photo = (...rows: string[]) => {
    const alpha = rows.join('');
    const data = Uint8Array.from({ length: 4 * alpha.length }, (_, i) =>
      i % 4 === 3 && alpha[i >> 2] === '#' ? 255 : 0,
    );
    return { width: rows[0]!.length, height: rows.length, data };
  };
  expect(countRegions(photo('##..', '..##', '....'))).toBe(1);
  expect(countRegions(photo('##..', '....', '..##'))).toBe(2);
  expect(countRegions(photo('....', '....', '....'))).toBe(0);
});
