import type { ModelContent } from './model-parts.js';
import { cross, minus, type Vector } from './weld.js';

const headerBytes = 80;
const triangleBytes = 50;

/**
 * Writes a binary STL, which contains only the shape. The format has no unit. Slicers assume millimeters, so the file
 * has these, and its header says so.
 *
 * Source: 3D Systems, StereoLithography Interface Specification (1989).
 */
export function writeStl({ parts }: ModelContent, up: 'y' | 'z'): Uint8Array {
  const count = parts.reduce((sum, { indices }) => sum + indices.length / 3, 0);
  const file = new Uint8Array(headerBytes + 4 + count * triangleBytes);
  // A header that begins with "solid" would mean a text file.
  file.set(new TextEncoder().encode(`gen3d, binary STL, millimeters, ${up.toUpperCase()} up`));
  const view = new DataView(file.buffer);
  view.setUint32(headerBytes, count, true);
  let at = headerBytes + 4;
  for (const { positions, indices } of parts) {
    for (let triangle = 0; triangle < indices.length; triangle += 3) {
      const [a, b, c] = [0, 1, 2].map((corner): Vector => {
        const index = 3 * indices[triangle + corner]!;
        return [positions[index]!, positions[index + 1]!, positions[index + 2]!];
      }) as [Vector, Vector, Vector];
      for (const vector of [facetNormal(a, b, c), a, b, c]) {
        for (const value of vector) {
          view.setFloat32(at, value, true);
          at += 4;
        }
      }
      // No attributes.
      at += 2;
    }
  }
  return file;
}

/** Returns zero for a triangle without area. Readers then compute the normal themselves. */
function facetNormal(a: Vector, b: Vector, c: Vector): number[] {
  const normal = cross(minus(b, a), minus(c, a));
  const length = Math.hypot(...normal) || 1;
  return normal.map((value) => value / length);
}
