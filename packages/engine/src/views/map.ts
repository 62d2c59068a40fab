// Square maps over a photo's frame, [mapSize·mapSize], rows from the top. Positions are -1 (left or top edge) to 1.

/** Pixels a side of the maps, as of the outline of one photo. */
export { outlineSize as mapSize } from '../field/columns.js';

/** Returns the position of the middle of a row or column, of which a map has `count`. */
export const centerOf = (index: number, count: number): number => ((index + 0.5) / count) * 2 - 1;

/** A map's value at a position, and its slopes along u and v. One is reused for all samples, which saves time. */
export interface Sample {
  value: number;
  du: number;
  dv: number;
}

export const newSample = (): Sample => ({ value: 0, du: 0, dv: 0 });

/** Samples one channel of a map bilinearly, with its slopes. Positions beyond the frame take the nearest edge value. */
export function sampleMap(map: Float32Array, size: number, u: number, v: number, sample: Sample, offset = 0): void {
  const scale = size / 2;
  const last = size - 1.001;
  let x = (u + 1) * scale - 0.5;
  let y = (v + 1) * scale - 0.5;
  x = Math.min(Math.max(x, 0), last);
  y = Math.min(Math.max(y, 0), last);
  const left = Math.floor(x);
  const top = Math.floor(y);
  const right = x - left;
  const down = y - top;
  const i = offset + top * size + left;
  const a = map[i]!;
  const b = map[i + 1]!;
  const c = map[i + size]!;
  const d = map[i + size + 1]!;
  const above = a + (b - a) * right;
  const below = c + (d - c) * right;
  sample.value = above + (below - above) * down;
  sample.du = ((b - a) * (1 - down) + (d - c) * down) * scale;
  sample.dv = (below - above) * scale;
}

/** Samples the signed distance inside an outline, which goes on beyond the frame. */
export function sampleOutline(outline: Float32Array, size: number, u: number, v: number, sample: Sample): void {
  sampleMap(outline, size, u, v, sample);
  if (u >= -1 && u <= 1 && v >= -1 && v <= 1) return;
  const beyondU = u > 1 ? u - 1 : u < -1 ? u + 1 : 0;
  const beyondV = v > 1 ? v - 1 : v < -1 ? v + 1 : 0;
  const beyond = Math.sqrt(beyondU * beyondU + beyondV * beyondV);
  const isOutside = sample.value < 0;
  sample.value = (isOutside ? sample.value : 0) - beyond;
  sample.du = (isOutside && beyondU === 0 ? sample.du : 0) - beyondU / beyond;
  sample.dv = (isOutside && beyondV === 0 ? sample.dv : 0) - beyondV / beyond;
}
