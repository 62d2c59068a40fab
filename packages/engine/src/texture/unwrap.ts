import type { Camera } from '../base/camera.js';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { type Charts, cutCharts } from './charts.js';
import { type Packing, packCharts } from './pack-charts.js';

/** Kept free between charts. */
const paddingTexels = 4;

/**
 * Unwraps a mesh to a square texture. Vertices on the seams between charts are split; UVs are 0..1 with v down.
 *
 * @param camera the photo's, in the mesh's space. The visible side gets most of the texture, unless all sides get it
 *   evenly
 * @param textureSize pixels a side
 */
export function unwrap(
  mesh: TriangleMesh,
  normals: Float32Array,
  camera: Camera,
  textureSize: number,
  evenly = false,
): TexturedMesh {
  const charts = cutCharts(mesh, camera, evenly);
  const packing = packCharts(charts, paddingTexels / textureSize);
  const { indices, corners } = splitAtSeams(mesh, charts.chartOfTriangle);
  const sources = corners.map((corner) => mesh.indices[corner]!);
  return {
    positions: pick3(mesh.positions, sources),
    indices,
    normals: pick3(normals, sources),
    uvs: atlasCoordinates(charts, packing, corners),
  };
}

/** Makes a vertex for each pair of a mesh's vertex and one of its charts. `corners` has the first corner of each. */
function splitAtSeams({ positions, indices }: TriangleMesh, chartOfTriangle: Int32Array) {
  // The copies of a vertex are a linked list: there is usually one, and seldom more than three.
  const firstCopy = new Int32Array(positions.length / 3).fill(-1);
  const nextCopy = new Int32Array(indices.length);
  const chartOfCopy = new Int32Array(indices.length);
  const corners = new Uint32Array(indices.length);
  const splitIndices = new Uint32Array(indices.length);
  let count = 0;
  for (let i = 0; i < indices.length; i++) {
    const vertex = indices[i]!;
    const chart = chartOfTriangle[Math.floor(i / 3)]!;
    let copy = firstCopy[vertex]!;
    while (copy >= 0 && chartOfCopy[copy] !== chart) copy = nextCopy[copy]!;
    if (copy < 0) {
      copy = count++;
      chartOfCopy[copy] = chart;
      corners[copy] = i;
      nextCopy[copy] = firstCopy[vertex]!;
      firstCopy[vertex] = copy;
    }
    splitIndices[i] = copy;
  }
  return { indices: splitIndices, corners: corners.subarray(0, count) };
}

/** Computes the UV of each corner [2·corners]. */
function atlasCoordinates({ flat, chartOfTriangle }: Charts, { offsets, side }: Packing, corners: Uint32Array) {
  const uvs = new Float32Array(2 * corners.length);
  corners.forEach((corner, i) => {
    const chart = chartOfTriangle[Math.floor(corner / 3)]!;
    uvs[2 * i] = (flat[2 * corner]! + offsets[2 * chart]!) / side;
    uvs[2 * i + 1] = (flat[2 * corner + 1]! + offsets[2 * chart + 1]!) / side;
  });
  return uvs;
}

function pick3(values: Float32Array, source: Uint32Array): Float32Array {
  const picked = new Float32Array(3 * source.length);
  source.forEach((from, i) => {
    picked[3 * i] = values[3 * from]!;
    picked[3 * i + 1] = values[3 * from + 1]!;
    picked[3 * i + 2] = values[3 * from + 2]!;
  });
  return picked;
}
