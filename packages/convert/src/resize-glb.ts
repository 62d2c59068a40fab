import { type Document, type GLTF, getBounds } from '@gltf-transform/core';
import type { Extent } from './place-model.js';
import { editJson } from './write-json.js';

// A node above the content gives a model another size, so the geometry stays as it is, bit for bit.

/** Returns the size of the scene in meters. */
export function extentOf(document: Document): Extent {
  const root = document.getRoot();
  const scene = root.getDefaultScene() ?? root.listScenes()[0];
  const { min, max } = scene ? getBounds(scene) : { min: [0, 0, 0], max: [0, 0, 0] };
  return max.map((value, axis) => value - min[axis]!) as unknown as Extent;
}

/** Scales a model. @param stated its extent before that, if the file is to state its size */
export const scaleGlb = (glb: Uint8Array, factor: number, stated?: Extent): Uint8Array =>
  editJson(glb, (json) => {
    scaleRoots(json, factor);
    const scaled = (vector: readonly number[]) => vector.map((value) => value * factor);
    const { asset } = json;
    const extras = (asset.extras ?? {}) as { photo?: { cameraPosition: number[]; cameraTarget: number[] } };
    const { photo } = extras;
    asset.extras = {
      ...extras,
      // The position of the photo's camera is in the coordinates of the model.
      ...(photo && {
        photo: { ...photo, cameraPosition: scaled(photo.cameraPosition), cameraTarget: scaled(photo.cameraTarget) },
      }),
      ...(stated && { size: sizeOf(scaled(stated)) }),
    };
  });

const sizeOf = ([width, height, depth]: readonly number[]) => ({ width, height, depth, unit: 'm' });

/** Puts a node above each root. Scenes may share their roots, but a node has only one parent. */
function scaleRoots(json: GLTF.IGLTF, factor: number): void {
  const nodes = json.nodes ?? [];
  const above = new Map<number, number>();
  for (const scene of json.scenes ?? []) {
    scene.nodes = scene.nodes?.map((root) => {
      const known = above.get(root);
      if (known !== undefined) return known;
      const node = nodes.push({ name: 'size', scale: [factor, factor, factor], children: [root] }) - 1;
      above.set(root, node);
      return node;
    });
  }
}
