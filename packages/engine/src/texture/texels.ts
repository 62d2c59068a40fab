import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';

/** The texels that a mesh's charts cover, as points on the surface. */
export interface Texels {
  readonly count: number;
  /** [count] index into the texture, row-major from the top. */
  readonly pixels: Uint32Array;
  /** [3·count] in the mesh's space. */
  readonly positions: Float32Array;
  /** [3·count], of nearly unit length. */
  readonly normals: Float32Array;
  /** [C·count] the vertices' values, interpolated. */
  readonly values: Float32Array;
}

/**
 * Finds the surface point of every texel whose center is on a triangle or near its edge.
 *
 * @param closed the mesh before its seams were split, with its triangles in the same order
 * @param closedValues [C·V] colors, or any other C numbers, of the closed mesh's vertices
 */
export function texelsOf(mesh: TexturedMesh, closed: TriangleMesh, closedValues: Float32Array, size: number): Texels {
  const triangleOf = new Int32Array(size * size).fill(-1);
  const cornerWeights = new Float32Array(2 * size * size);
  // Covered texels first, so that a rim never replaces a texel inside another triangle.
  const count = cover(mesh, size, 0, triangleOf, cornerWeights) + cover(mesh, size, rim, triangleOf, cornerWeights);

  const pixels = new Uint32Array(count);
  const positions = new Float32Array(3 * count);
  const normals = new Float32Array(3 * count);
  const channels = closedValues.length / (closed.positions.length / 3);
  const values = new Float32Array(channels * count);
  let i = 0;
  for (let pixel = 0; pixel < triangleOf.length; pixel++) {
    const t = triangleOf[pixel]!;
    if (t < 0) continue;
    const [wb, wc] = [cornerWeights[2 * pixel]!, cornerWeights[2 * pixel + 1]!];
    const wa = 1 - wb - wc;
    const [a, b, c] = [3 * mesh.indices[3 * t]!, 3 * mesh.indices[3 * t + 1]!, 3 * mesh.indices[3 * t + 2]!];
    for (let axis = 0; axis < 3; axis++) {
      positions[3 * i + axis] =
        wa * mesh.positions[a + axis]! + wb * mesh.positions[b + axis]! + wc * mesh.positions[c + axis]!;
      normals[3 * i + axis] =
        wa * mesh.normals[a + axis]! + wb * mesh.normals[b + axis]! + wc * mesh.normals[c + axis]!;
    }
    const [va, vb, vc] = [0, 1, 2].map((corner) => channels * closed.indices[3 * t + corner]!) as [
      number,
      number,
      number,
    ];
    for (let channel = 0; channel < channels; channel++) {
      values[channels * i + channel] =
        wa * closedValues[va + channel]! + wb * closedValues[vb + channel]! + wc * closedValues[vc + channel]!;
    }
    pixels[i++] = pixel;
  }
  return { count, pixels, positions, normals, values };
}

/** Half a texel's diagonal, in texels, so that thin triangles without a texel center are painted too. */
const rim = 0.71;

/** Assigns the free texels within `reach` of each triangle. @returns their number */
function cover(
  { indices, uvs }: TexturedMesh,
  size: number,
  reach: number,
  triangleOf: Int32Array,
  cornerWeights: Float32Array,
): number {
  let count = 0;
  for (let t = 0; t < indices.length / 3; t++) {
    const [a, b, c] = [2 * indices[3 * t]!, 2 * indices[3 * t + 1]!, 2 * indices[3 * t + 2]!];
    const [ax, ay] = [uvs[a]! * size, uvs[a + 1]! * size];
    const [bx, by] = [uvs[b]! * size, uvs[b + 1]! * size];
    const [cx, cy] = [uvs[c]! * size, uvs[c + 1]! * size];
    const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
    if (Math.abs(area) < 1e-9) continue;
    const [bcLength, caLength, abLength] = [
      Math.hypot(cx - bx, cy - by),
      Math.hypot(ax - cx, ay - cy),
      Math.hypot(bx - ax, by - ay),
    ];
    // A barycentric weight changes by this, times the edge's length, over `reach` texels.
    const slack = reach / Math.abs(area);
    const x0 = Math.max(0, Math.floor(Math.min(ax, bx, cx) - reach));
    const x1 = Math.min(size - 1, Math.floor(Math.max(ax, bx, cx) + reach));
    const y0 = Math.max(0, Math.floor(Math.min(ay, by, cy) - reach));
    const y1 = Math.min(size - 1, Math.floor(Math.max(ay, by, cy) + reach));
    for (let y = y0; y <= y1; y++) {
      for (let x = x0; x <= x1; x++) {
        const pixel = y * size + x;
        if (triangleOf[pixel]! >= 0) continue;
        const [px, py] = [x + 0.5, y + 0.5];
        const wa = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area;
        const wb = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area;
        const wc = 1 - wa - wb;
        if (wa < -slack * bcLength || wb < -slack * caLength || wc < -slack * abLength) continue;
        triangleOf[pixel] = t;
        const [ka, kb, kc] = [Math.max(wa, 0), Math.max(wb, 0), Math.max(wc, 0)];
        cornerWeights[2 * pixel] = kb / (ka + kb + kc);
        cornerWeights[2 * pixel + 1] = kc / (ka + kb + kc);
        count++;
      }
    }
  }
  return count;
}
