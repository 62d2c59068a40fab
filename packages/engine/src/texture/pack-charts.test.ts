import { describe, expect, test } from 'vitest';
import type { Charts } from './charts.js';
import { packCharts } from './pack-charts.js';

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** One chart of two triangles for each rectangle. */
function chartsOf(rectangles: readonly Rectangle[]): Charts {
  return {
    chartOfTriangle: Int32Array.from({ length: 2 * rectangles.length }, (_, triangle) => Math.floor(triangle / 2)),
    count: rectangles.length,
    flat: Float32Array.from(
      rectangles.flatMap(({ left, top, right, bottom }) => [
        ...[left, top, right, top, right, bottom],
        ...[left, top, right, bottom, left, bottom],
      ]),
    ),
  };
}

/** The positions of the rectangles in the atlas, as shares of its side. */
function packed(rectangles: readonly Rectangle[], padding: number): Rectangle[] {
  const { offsets, side } = packCharts(chartsOf(rectangles), padding);
  return rectangles.map(({ left, top, right, bottom }, chart) => ({
    left: (left + offsets[2 * chart]!) / side,
    top: (top + offsets[2 * chart + 1]!) / side,
    right: (right + offsets[2 * chart]!) / side,
    bottom: (bottom + offsets[2 * chart + 1]!) / side,
  }));
}

/** The smallest distance between two rectangles, along the axis where it is larger. Negative if they overlap. */
function smallestGap(rectangles: readonly Rectangle[]): number {
  const sorted = rectangles.toSorted((a, b) => a.left - b.left);
  let smallest = Infinity;
  sorted.forEach((a, i) => {
    for (let j = i + 1; j < sorted.length && sorted[j]!.left - a.right < smallest; j++) {
      const b = sorted[j]!;
      smallest = Math.min(smallest, Math.max(b.left - a.right, b.top - a.bottom, a.top - b.bottom));
    }
  });
  return smallest;
}

/** Rectangles of many sizes and proportions, anywhere in the plane. */
function mixed(count: number): Rectangle[] {
  return Array.from({ length: count }, (_, i) => {
    const [left, top] = [Math.sin(12.9898 * i), Math.cos(78.233 * i)];
    const width = 0.5 / (1 + (i % 17));
    const height = 0.5 / (1 + (i % 11));
    return { left, top, right: left + width, bottom: top + height };
  });
}

describe('packing charts', () => {
  test.each([3, 40, 400])('keeps %i rectangles inside the atlas and the padding between them', (count) => {
    const padding = 4 / 1024;
    const rectangles = packed(mixed(count), padding);
    expect(Math.min(...rectangles.flatMap(({ left, top }) => [left, top]))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...rectangles.flatMap(({ right, bottom }) => [right, bottom]))).toBeLessThanOrEqual(1);
    expect(smallestGap(rectangles)).toBeGreaterThanOrEqual(padding);
  });

  test('fills most of the atlas', () => {
    const covered = packed(mixed(40), 4 / 1024).reduce(
      (sum, { left, top, right, bottom }) => sum + (right - left) * (bottom - top),
      0,
    );
    expect(covered).toBeGreaterThan(0.75);
  });

  test('puts a small chart into the hole of a large one', () => {
    const bars = [
      { left: 0, top: 0, right: 1, bottom: 0.2 },
      { left: 0, top: 0.8, right: 1, bottom: 1 },
      { left: 0, top: 0, right: 0.2, bottom: 1 },
      { left: 0.8, top: 0, right: 1, bottom: 1 },
    ];
    const frame = chartsOf(bars);
    const both = chartsOf([...bars, { left: 5, top: 5, right: 5.55, bottom: 5.55 }]);
    const alone = packCharts({ ...frame, chartOfTriangle: frame.chartOfTriangle.fill(0), count: 1 }, 0.004);
    const chartOfTriangle = both.chartOfTriangle.map((chart) => (chart < 4 ? 0 : 1));
    expect(packCharts({ ...both, chartOfTriangle, count: 2 }, 0.004).side).toBeLessThan(1.03 * alone.side);
  });

  test('keeps thousands of tiny charts apart whose padding needs more space than they do', () => {
    const tiny = Array.from({ length: 2_000 }, () => ({ left: 0, top: 0, right: 1e-3, bottom: 1e-3 }));
    expect(smallestGap(packed(tiny, 4 / 256))).toBeGreaterThan(0);
  });

  test('accepts charts without area and coordinates that are not numbers', () => {
    const { offsets, side } = packCharts(
      chartsOf([
        { left: 0, top: 0, right: 0, bottom: 0 },
        { left: Number.NaN, top: 0, right: 1, bottom: Number.NaN },
      ]),
      4 / 1024,
    );
    expect([...offsets, side].every(Number.isFinite)).toBe(true);
    expect(side).toBeGreaterThan(0);
  });
});
