import type { TriangleMesh } from './mesh.js';

/**
 * What keeps a mesh from being a closed, consistently wound 2-manifold; empty when nothing does.
 *
 * Checks that no triangle repeats a vertex, that each directed edge occurs exactly once and its reverse too, and that
 * the triangles around each vertex form a single fan.
 */
export function topologyProblems({ positions, indices }: TriangleMesh): string[] {
  const problems: string[] = [];
  const bad = nonManifoldVertices({ positions, indices });
  if (bad.size > 0) problems.push(`${bad.size} vertices on edges without exactly two triangles, or with several fans`);
  return problems;
}

/** The vertices at which the mesh is not a closed, consistently wound 2-manifold. */
export function nonManifoldVertices({ positions, indices }: TriangleMesh): Set<number> {
  const vertexCount = positions.length / 3;
  const bad = new Set<number>();
  // Directed edge -> the corner opposite to it. A key stays exact in a double up to 2^26 vertices.
  const opposite = new Map<number, number>();
  const key = (a: number, b: number) => a * vertexCount + b;
  const degree = new Uint32Array(vertexCount);
  const someNeighbour = new Int32Array(vertexCount).fill(-1);

  for (let t = 0; t < indices.length; t += 3) {
    for (let c = 0; c < 3; c++) {
      const a = indices[t + c]!;
      const b = indices[t + ((c + 1) % 3)]!;
      if (a === b || opposite.has(key(a, b))) bad.add(a).add(b);
      opposite.set(key(a, b), indices[t + ((c + 2) % 3)]!);
      degree[a]!++;
      someNeighbour[a] = b;
    }
  }
  for (const edge of opposite.keys()) {
    const [a, b] = [Math.floor(edge / vertexCount), edge % vertexCount];
    if (!opposite.has(key(b, a))) bad.add(a).add(b);
  }
  for (let vertex = 0; vertex < vertexCount; vertex++) {
    if (bad.has(vertex) || degree[vertex] === 0) continue;
    // Turning once around the vertex must meet all its triangles.
    let turned = 0;
    let neighbour = someNeighbour[vertex]!;
    do {
      neighbour = opposite.get(key(vertex, neighbour))!;
      turned++;
    } while (neighbour !== someNeighbour[vertex] && turned <= degree[vertex]!);
    if (turned !== degree[vertex]) bad.add(vertex);
  }
  return bad;
}

/** Volume inside a closed mesh, in its units cubed; negative if it winds inwards. */
export function enclosedVolume({ positions, indices }: TriangleMesh): number {
  let sixfold = 0;
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [3 * indices[t]!, 3 * indices[t + 1]!, 3 * indices[t + 2]!];
    const [ax, ay, az] = [positions[a]!, positions[a + 1]!, positions[a + 2]!];
    const [bx, by, bz] = [positions[b]!, positions[b + 1]!, positions[b + 2]!];
    const [cx, cy, cz] = [positions[c]!, positions[c + 1]!, positions[c + 2]!];
    sixfold += ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
  }
  return sixfold / 6;
}
