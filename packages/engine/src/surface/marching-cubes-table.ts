/**
 * Lists the triangles for each of the 256 ways in which a cube's corners can be inside or outside. The table is derived
 * by code.
 *
 * Corners are numbered x + 2y + 4z, edges by their lower corner and axis. On every face, crossings are joined so that
 * inside corners stay apart where the face is ambiguous. Two cubes that share a face therefore join the same crossings,
 * and the surface is closed. Polygons are cut only along diagonals that are not in a face of the cube: the neighboring
 * cube could use the same diagonal, which would then have four triangles. So the result is always a closed 2-manifold,
 * unlike that of the classic printed table.
 */

/** Each of the 12 edges: its lower corner and the axis (0 x, 1 y, 2 z) of its direction. */
export const edgeCorners: readonly (readonly [corner: number, axis: number])[] = [0, 1, 2].flatMap((axis) =>
  [0, 1, 2, 3, 4, 5, 6, 7].filter((corner) => !(corner & (1 << axis))).map((corner) => [corner, axis] as const),
);

const edgeBetween = (a: number, b: number) =>
  edgeCorners.findIndex(([corner, axis]) => corner === Math.min(a, b) && corner + (1 << axis) === Math.max(a, b));

/** Lists the corners of each face, counterclockwise as seen from outside the cube. */
const faces: readonly (readonly number[])[] = [0, 1, 2].flatMap((axis) => {
  const u = 1 << ((axis + 1) % 3);
  const v = 1 << ((axis + 2) % 3);
  const low = [0, v, u + v, u];
  return [low, low.map((corner) => corner + (1 << axis)).reverse()];
});

/** Lists the two faces of each edge. The crossings of two edges with a common face are in one plane. */
const facesOfEdge = edgeCorners.map(([corner, axis]) =>
  faces.flatMap((face, f) => (face.includes(corner) && face.includes(corner + (1 << axis)) ? [f] : [])),
);
const shareFace = (a: number, b: number) => facesOfEdge[a]!.some((face) => facesOfEdge[b]!.includes(face));

/** Joins crossings into closed polygons, wound so that they face outside. */
function polygonsOf(configuration: number): number[][] {
  const inside = (corner: number) => (configuration >> corner) & 1;
  const next = new Map<number, number>();
  for (const face of faces) {
    face.forEach((corner, i) => {
      const following = face[(i + 1) % 4]!;
      if (!inside(corner) || inside(following)) return;
      // A run of inside corners along the face's rim ends here. Joining the crossings at its start and end keeps it
      // apart from any other run on the face.
      let start = i;
      while (inside(face[(start + 3) % 4]!)) start = (start + 3) % 4;
      next.set(edgeBetween(face[(start + 3) % 4]!, face[start]!), edgeBetween(corner, following));
    });
  }
  const polygons: number[][] = [];
  while (next.size > 0) {
    const polygon: number[] = [];
    for (let edge = [...next.keys()][0]!; next.has(edge); ) {
      polygon.push(edge);
      const following = next.get(edge)!;
      next.delete(edge);
      edge = following;
    }
    polygons.push(polygon);
  }
  return polygons;
}

/** Cuts a polygon into triangles along diagonals that are not in a face. @returns undefined if that is impossible */
function triangulate(polygon: readonly number[]): number[] | undefined {
  if (polygon.length === 3) return [...polygon];
  const [first, last] = [polygon[0]!, polygon[polygon.length - 1]!];
  for (let i = 1; i < polygon.length - 1; i++) {
    const apex = polygon[i]!;
    const left = i === 1 ? [] : shareFace(first, apex) ? undefined : triangulate(polygon.slice(0, i + 1));
    if (!left) continue;
    const right = i === polygon.length - 2 ? [] : shareFace(apex, last) ? undefined : triangulate(polygon.slice(i));
    if (right) return [...left, first, apex, last, ...right];
  }
  return undefined;
}

/** Lists, by configuration (bit c set: corner c is inside), the edges of the triangles' corners, three per triangle. */
export const cubeTriangles: readonly Uint8Array[] = Array.from({ length: 256 }, (_, configuration) =>
  Uint8Array.from(
    polygonsOf(configuration).flatMap((polygon) => {
      const triangles = triangulate(polygon);
      if (!triangles) throw new Error(`no cut of polygon ${polygon} of configuration ${configuration}`);
      return triangles;
    }),
  ),
);
