import * as watlas from 'watlas';
import type { Camera } from '../base/camera.js';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { cutCharts } from './charts.js';

let initialization: Promise<void> | undefined;

/**
 * Unwraps a mesh to a square texture. Vertices on the seams between charts are split; UVs are 0..1 with v down.
 *
 * @param camera the photo's, in the mesh's space. The visible side gets most of the texture
 * @param paddingTexels kept free between charts when the texture has `textureSize` pixels a side
 * @see https://github.com/jpcy/xatlas, used through watlas to pack the charts
 */
export async function unwrap(
  mesh: TriangleMesh,
  normals: Float32Array,
  camera: Camera,
  { textureSize, paddingTexels }: { textureSize: number; paddingTexels: number },
): Promise<TexturedMesh> {
  const { chartOfTriangle, flat } = cutCharts(mesh, camera);
  const split = splitBySeams(mesh, chartOfTriangle, flat);
  initialization ??= watlas.Initialize();
  await initialization;
  const atlas = new watlas.Atlas();
  try {
    atlas.addUvMesh({
      vertexUvData: split.flat,
      vertexCount: split.source.length,
      vertexStride: 8,
      indexData: split.indices,
      indexCount: split.indices.length,
      faceMaterialData: Uint32Array.from(chartOfTriangle),
    });
    atlas.computeCharts({});
    const packing = { padding: paddingTexels, bilinear: true, rotateCharts: true };
    atlas.packCharts({ ...packing, resolution: textureSize });
    // xatlas only estimates the scale that fills a resolution. Packing again at the measured scale keeps the padding
    // exact.
    const scale = textureSize / Math.max(atlas.width, atlas.height);
    atlas.packCharts({ ...packing, texelsPerUnit: atlas.texelsPerUnit * scale });
    const packed = atlas.getMesh(0);
    const indices = new Uint32Array(packed.indexCount);
    packed.getIndexArray(indices);
    const count = packed.vertexCount;
    const uvs: number[] = [];
    const source: number[] = [];
    const inChart = new Map<number, number>();
    const leftOut = new Set<number>();
    const side = Math.max(atlas.width, atlas.height);
    for (let i = 0; i < count; i++) {
      const { uv, xref, chartIndex } = packed.getVertex(i);
      source[i] = split.source[xref]!;
      uvs[2 * i] = uv[0] / side;
      uvs[2 * i + 1] = uv[1] / side;
      if (chartIndex < 0) leftOut.add(i);
      else inChart.set(source[i]!, i);
    }
    // xatlas leaves out triangles without area. All corners of one get the UV of one that is in a chart: UVs in
    // different charts would spread the triangle over everything between them.
    const free = new Set(leftOut);
    for (let first = 0; first < indices.length; first += 3) {
      const corners = indices.subarray(first, first + 3);
      if (!corners.some((vertex) => leftOut.has(vertex))) continue;
      const donor =
        Array.from(corners, (vertex) => inChart.get(source[vertex]!)).find((found) => found !== undefined) ?? 0;
      corners.forEach((vertex, corner) => {
        // A vertex that another triangle uses too keeps its UV, and this triangle gets a copy.
        const own = free.delete(vertex) ? vertex : source.push(source[vertex]!) - 1;
        uvs[2 * own] = uvs[2 * donor]!;
        uvs[2 * own + 1] = uvs[2 * donor + 1]!;
        corners[corner] = own;
      });
    }
    const sources = Uint32Array.from(source);
    return {
      positions: pick3(mesh.positions, sources),
      indices,
      normals: pick3(normals, sources),
      uvs: Float32Array.from(uvs),
    };
  } finally {
    atlas.delete();
  }
}

/** One vertex for each pair of a mesh's vertex and one of its charts. `source` is the mesh's vertex. */
function splitBySeams({ indices }: TriangleMesh, chartOfTriangle: Int32Array, flat: Float32Array) {
  const ids = new Map<number, number>();
  const vertexCount = indices.reduce((max, vertex) => Math.max(max, vertex + 1), 0);
  const source: number[] = [];
  const coordinates: number[] = [];
  const splitIndices = new Uint32Array(indices.length);
  indices.forEach((vertex, i) => {
    const key = chartOfTriangle[Math.floor(i / 3)]! * vertexCount + vertex;
    let id = ids.get(key);
    if (id === undefined) {
      id = source.length;
      ids.set(key, id);
      source.push(vertex);
      coordinates.push(flat[2 * i]!, flat[2 * i + 1]!);
    }
    splitIndices[i] = id;
  });
  return { source, flat: Float32Array.from(coordinates), indices: splitIndices };
}

function pick3(values: Float32Array, source: Uint32Array): Float32Array {
  const picked = new Float32Array(3 * source.length);
  source.forEach((from, i) => {
    picked.set(values.subarray(3 * from, 3 * from + 3), 3 * i);
  });
  return picked;
}
