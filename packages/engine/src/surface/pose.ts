import { boxAround, extentOf } from '../base/box.js';
import type { TexturedMesh } from '../base/mesh.js';

export interface Posed<M> {
  readonly model: M;
  /** Converts points [3·N] from the camera's frame to the model's. */
  readonly toModel: (points: Float32Array) => Float32Array;
}

/**
 * Rotates a model from the photo camera's frame into glTF's: Y up, the visible side towards +Z, standing on y = 0 and
 * centered in x and z. The longest side becomes one meter, since a photo does not tell the size.
 *
 * @param elevationRadians the angle at which the camera looked down on the object
 */
export function pose<M extends TexturedMesh>(mesh: M, elevationRadians: number): Posed<M> {
  const positions = tilt(mesh.positions, elevationRadians);
  const box = boxAround(positions);
  const { min, max } = box;
  const maxSide = extentOf(box);
  const origin = [(min[0] + max[0]) / 2, min[1], (min[2] + max[2]) / 2];
  const moveAndScale = (points: Float32Array) => points.map((value, i) => (value - origin[i % 3]!) / maxSide);
  return {
    model: { ...mesh, positions: moveAndScale(positions), normals: tilt(mesh.normals, elevationRadians) },
    toModel: (points) => moveAndScale(tilt(points, elevationRadians)),
  };
}

/** Rotates about X by minus the elevation: in the view of a camera that looks down, the top leans towards it. */
export function tilt(vectors: Float32Array, elevationRadians: number): Float32Array {
  const [sin, cos] = [Math.sin(elevationRadians), Math.cos(elevationRadians)];
  const tilted = vectors.slice();
  for (let i = 0; i < tilted.length; i += 3) {
    const [y, z] = [vectors[i + 1]!, vectors[i + 2]!];
    tilted[i + 1] = cos * y + sin * z;
    tilted[i + 2] = cos * z - sin * y;
  }
  return tilted;
}
