const rings = 24;
const segments = 48;

/** @typedef {import('./sample-surface.mjs').RgbaImage} RgbaImage */

/**
 * A sphere of radius 1 in the mean color of the opaque part of a photo.
 *
 * @param {RgbaImage} photo
 * @returns its mesh and texture, as the engine's `readGlb` returns them
 */
export function sphereModel(photo) {
  return { mesh: sphere(), baseColor: { width: 1, height: 1, data: meanColor(photo) } };
}

/** One vertex at each pole closes the mesh. */
function sphere() {
  const positions = [0, 1, 0];
  for (let ring = 1; ring < rings; ring++) {
    const polar = (Math.PI * ring) / rings;
    for (let segment = 0; segment < segments; segment++) {
      const around = (2 * Math.PI * segment) / segments;
      positions.push(Math.sin(polar) * Math.sin(around), Math.cos(polar), Math.sin(polar) * Math.cos(around));
    }
  }
  positions.push(0, -1, 0);
  const south = positions.length / 3 - 1;
  /** @type {(ring: number, segment: number) => number} */
  const at = (ring, segment) => 1 + (ring - 1) * segments + (segment % segments);
  const indices = [];
  for (let segment = 0; segment < segments; segment++) {
    indices.push(0, at(1, segment), at(1, segment + 1), south, at(rings - 1, segment + 1), at(rings - 1, segment));
    for (let ring = 1; ring < rings - 1; ring++) {
      const [a, b] = [at(ring, segment), at(ring, segment + 1)];
      const [c, d] = [at(ring + 1, segment), at(ring + 1, segment + 1)];
      indices.push(a, c, b, b, c, d);
    }
  }
  return {
    positions: Float32Array.from(positions),
    indices: Uint32Array.from(indices),
    uvs: new Float32Array((positions.length / 3) * 2),
  };
}

/** @param {RgbaImage} photo */
function meanColor({ data }) {
  const sums = [0, 0, 0];
  let total = 0;
  for (let i = 0; i < data.length; i += 4) {
    total += data[i + 3];
    for (let c = 0; c < 3; c++) sums[c] += data[i + c] * data[i + 3];
  }
  return Uint8Array.from([...sums.map((sum) => Math.round(sum / total)), 255]);
}
