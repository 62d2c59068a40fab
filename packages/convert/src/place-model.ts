import { ConversionError } from './conversion-error.js';
import { type ModelContent, type ModelPart, toZUp } from './model-parts.js';
import type { RealSize } from './options.js';

/** Along X, Y and Z of the GLB: width, height and depth. */
export type Extent = readonly [width: number, height: number, depth: number];

/** Computes the size of the box around the triangles, and its bottom. Both are in the unit of the positions. */
export function boxAround({ parts }: Pick<ModelContent, 'parts'>): { extent: Extent; bottom: number } {
  const min = [Infinity, Infinity, Infinity];
  const max = [-Infinity, -Infinity, -Infinity];
  for (const { positions, indices } of parts) {
    for (const vertex of indices) {
      for (let axis = 0; axis < 3; axis++) {
        const value = positions[3 * vertex + axis]!;
        if (value < min[axis]!) min[axis] = value;
        if (value > max[axis]!) max[axis] = value;
      }
    }
  }
  return { extent: [max[0]! - min[0]!, max[1]! - min[1]!, max[2]! - min[2]!], bottom: min[1]! };
}

/** Returns the factor that scales this extent to the size. @throws {ConversionError} if that side has no length */
export function scaleTo({ side, meters }: RealSize, [width, height, depth]: Extent): number {
  const length = { longest: Math.max(width, height, depth), height, width }[side];
  if (length > 0) return meters / length;
  throw new ConversionError(`The model is flat: its ${side} side is 0 long. Give the size of another side`);
}

/** Moves a model down by `bottom`, scales it, and turns it so that `up` points up. */
export function placeModel(model: ModelContent, bottom: number, scale: number, up: 'y' | 'z'): ModelContent {
  const turned = (vectors: Float32Array) => (up === 'z' ? toZUp(vectors) : vectors);
  const place = (part: ModelPart): ModelPart => ({
    ...part,
    positions: turned(part.positions.map((value, at) => (at % 3 === 1 ? value - bottom : value) * scale)),
    normals: part.normals && turned(part.normals),
  });
  return { ...model, parts: model.parts.map(place) };
}
