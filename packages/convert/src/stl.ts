import type { ModelContent } from './model-parts.js';

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
      const [a, b, c] = [0, 1, 2].map((corner) => {
        const index = 3 * indices[triangle + corner]!;
        return positions.subarray(index, index + 3);
      }) as [Float32Array, Float32Array, Float32Array];
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
function facetNormal(a: Float32Array, b: Float32Array, c: Float32Array): number[] {
  const [ux, uy, uz] = [b[0]! - a[0]!, b[1]! - a[1]!, b[2]! - a[2]!];
  const [vx, vy, vz] = [c[0]! - a[0]!, c[1]! - a[1]!, c[2]! - a[2]!];
  const normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
  const length = Math.hypot(...normal) || 1;
  return normal.map((value) => value / length);
}
