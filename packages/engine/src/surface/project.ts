import type { TriangleMesh } from '../base/mesh.js';
import type { DensityField, DensityScale } from '../field/density-field.js';
import { vertexNormals } from './normals.js';
import { undoFolded } from './undo-folded.js';

/** Maximum move of a vertex, as a share of a cell. Beyond it, the slope is not reliable. */
const maxMove = 0.5;

/** Half the distance along the normal over which the slope is measured, as a share of a cell. */
const reach = 0.5;

/** A triangle counts as folded if the cosine between its normals before and after is at most this. */
const minCosine = 0.5;

/**
 * Moves each vertex along its normal to where the field crosses its threshold, by one Newton step, which restores
 * detail lost by smoothing and simplifying. Vertices of triangles that would fold do not move.
 *
 * @param cell the side of a cell of the grid the mesh was extracted from
 */
export async function projectOntoField(
  mesh: TriangleMesh,
  field: DensityField,
  scale: DensityScale,
  cell: number,
): Promise<TriangleMesh> {
  const { positions, indices } = mesh;
  const count = positions.length / 3;
  const normals = vertexNormals(mesh);
  // Three points per vertex: the vertex, slightly outside and slightly inside.
  const points = new Float32Array(3 * positions.length);
  for (let i = 0; i < positions.length; i++) {
    points[i] = positions[i]!;
    points[positions.length + i] = positions[i]! + reach * cell * normals[i]!;
    points[2 * positions.length + i] = positions[i]! - reach * cell * normals[i]!;
  }
  const densities = new Float32Array(3 * count);
  await field.evaluate(points, densities);

  const projected = positions.slice();
  for (let vertex = 0; vertex < count; vertex++) {
    const here = scale.of(densities[vertex]!);
    const fall = scale.of(densities[2 * count + vertex]!) - scale.of(densities[count + vertex]!);
    // Where the field does not decrease outwards, it does not explain this part of the surface.
    if (!(fall > 0)) continue;
    const cells = (here / fall) * 2 * reach;
    const step = cell * Math.min(Math.max(cells, -maxMove), maxMove);
    for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) projected[axis]! += step * normals[axis]!;
  }
  while (undoFolded(projected, positions, indices, minCosine) > 0);
  return { positions: projected, indices };
}
