import { frameScale } from '../base/camera.js';
import type { Cutout } from '../base/image.js';
import { sampleSquare } from '../base/interpolation.js';
import { matteChannel } from '../photo/frame.js';
import type { DensityField } from './density-field.js';
import { signedDistance } from './distance-transform.js';

const gridSize = 128;
const camera = { distance: 3.5, halfTangent: 0.18 };

/**
 * Reconstructs without weights, by inflating the silhouette like a cushion. The result is a preview, and the baseline
 * of every network.
 *
 * The squared half thickness h solves Poisson's equation (its Laplacian is -4 inside the matte, and h is 0 on the
 * outline), so a disc becomes a ball and a strip a rod, and everything is round and closed. The density is h - z².
 * @see Nealen, Igarashi, Sorkine and Alexa, "FiberMesh", SIGGRAPH 2007, for inflation. The square root makes the rim
 *      meet the image at a right angle, as a round object's does
 */
export function inflate(cutout: Cutout): DensityField {
  const matte = matteChannel(cutout, gridSize);
  const outline = signedDistance(matte, gridSize);
  const squared = solvePoisson(matte);
  const halfWidth = camera.distance * camera.halfTangent;
  // Outside, a ramp below zero that meets the inside at the outline gives marching cubes a sub-pixel edge.
  const rampOutside = 2 / gridSize;
  const height = squared.map((value, i) => (outline[i]! > 0 ? value : outline[i]! * rampOutside));
  const thickest = Math.sqrt(height.reduce((a, b) => Math.max(a, b), 0)) * halfWidth;
  const widest = frameScale(camera, -thickest);
  return {
    threshold: 0,
    camera,
    elevation: { radians: 0, spreadRadians: 0 },
    projects: false,
    bumpyBehind: false,
    bounds: { min: [-widest, -widest, -thickest], max: [widest, widest, thickest] },
    async evaluate(points, density) {
      for (let i = 0, p = 0; i < density.length; i++, p += 3) {
        const z = points[p + 2]!;
        const scale = 1 / frameScale(camera, z);
        const squaredThickness = sampleSquare(height, gridSize, points[p]! * scale, -points[p + 1]! * scale);
        density[i] = squaredThickness - (z / halfWidth) ** 2;
      }
    },
  };
}

/** Uses successive over-relaxation. The factor is optimal for a square of this size, and 150 sweeps leave under 1 %. */
function solvePoisson(matte: Float32Array): Float32Array {
  const solution = new Float32Array(matte.length);
  const factor = 2 / (1 + Math.sin(Math.PI / gridSize));
  const source = 4 * (2 / gridSize) ** 2;
  for (let sweep = 0; sweep < 150; sweep++) {
    for (let y = 1; y < gridSize - 1; y++) {
      for (let x = 1; x < gridSize - 1; x++) {
        const i = y * gridSize + x;
        if (matte[i]! <= 0.5) continue;
        const around = solution[i - 1]! + solution[i + 1]! + solution[i - gridSize]! + solution[i + gridSize]!;
        solution[i]! += factor * ((around + source) / 4 - solution[i]!);
      }
    }
  }
  return solution;
}
