import type { TexturedMesh } from '../base/mesh.js';

/** Makes a UV sphere around [0, radius, 0], so it is on the ground. u goes around once, v down from the north pole. */
export function sphere(radius: number, rings: number, segments = 2 * rings): TexturedMesh {
  const positions: number[] = [];
  const normals: number[] = [];
  const uvs: number[] = [];
  for (let ring = 0; ring <= rings; ring++) {
    for (let segment = 0; segment <= segments; segment++) {
      const polar = (Math.PI * ring) / rings;
      // u = 0.5 is the front, +Z. u increases towards +X, to the right in a view of the front.
      const azimuth = 2 * Math.PI * (segment / segments - 0.5);
      const normal = [Math.sin(polar) * Math.sin(azimuth), Math.cos(polar), Math.sin(polar) * Math.cos(azimuth)];
      normals.push(...normal);
      positions.push(radius * normal[0]!, radius * (1 + normal[1]!), radius * normal[2]!);
      uvs.push(segment / segments, ring / rings);
    }
  }
  const indices: number[] = [];
  const at = (ring: number, segment: number) => ring * (segments + 1) + segment;
  for (let ring = 0; ring < rings; ring++) {
    for (let segment = 0; segment < segments; segment++) {
      const [a, b] = [at(ring, segment), at(ring + 1, segment)];
      const [c, d] = [at(ring + 1, segment + 1), at(ring, segment + 1)];
      if (ring < rings - 1) indices.push(a, b, c);
      if (ring > 0) indices.push(a, c, d);
    }
  }
  return textured(positions, normals, uvs, indices);
}

/**
 * Makes a cube of side 2·`half` on the ground. Every face has the whole texture, upright:
 *
 *     a(0,0) --- d(1,0)
 *       |          |
 *     b(0,1) --- c(1,1)
 */
export function box(half: number): TexturedMesh {
  const faces = [
    { normal: [0, 0, 1], right: [1, 0, 0], up: [0, 1, 0] },
    { normal: [1, 0, 0], right: [0, 0, -1], up: [0, 1, 0] },
    { normal: [0, 0, -1], right: [-1, 0, 0], up: [0, 1, 0] },
    { normal: [-1, 0, 0], right: [0, 0, 1], up: [0, 1, 0] },
    { normal: [0, 1, 0], right: [1, 0, 0], up: [0, 0, -1] },
    { normal: [0, -1, 0], right: [1, 0, 0], up: [0, 0, 1] },
  ];
  const corners = [
    [-1, 1],
    [-1, -1],
    [1, -1],
    [1, 1],
  ] as const;
  const positions: number[] = [];
  const normals: number[] = [];
  const uvs: number[] = [];
  const indices: number[] = [];
  for (const { normal, right, up } of faces) {
    const first = positions.length / 3;
    for (const [x, y] of corners) {
      for (const axis of [0, 1, 2]) {
        positions.push(half * (normal[axis]! + x * right[axis]! + y * up[axis]! + (axis === 1 ? 1 : 0)));
      }
      normals.push(...normal);
      uvs.push((1 + x) / 2, (1 - y) / 2);
    }
    indices.push(first, first + 1, first + 2, first, first + 2, first + 3);
  }
  return textured(positions, normals, uvs, indices);
}

function textured(positions: number[], normals: number[], uvs: number[], indices: number[]): TexturedMesh {
  return {
    positions: Float32Array.from(positions),
    normals: Float32Array.from(normals),
    uvs: Float32Array.from(uvs),
    indices: Uint32Array.from(indices),
  };
}
