// Loaded by the page of a model only: it is fifteen times the rest of the dashboard.
import '@google/model-viewer';
import type { ModelViewerElement } from '@google/model-viewer';
import { $scene } from '@google/model-viewer/lib/model-viewer-base.js';

/** The part of three.js's objects that is used here; three has no types of its own. */
interface SceneObject {
  material?: { wireframe?: boolean } | { wireframe?: boolean }[];
  children: SceneObject[];
}

/** Draws the edges of the model's triangles instead of its surface. model-viewer has no setting for it, but its scene can be had. */
export function showWireframe(viewer: ModelViewerElement, on: boolean): void {
  const scene = viewer[$scene];
  const draw = (object: SceneObject): void => {
    // A plane of its own, which stays what it is.
    if (object === (scene.shadow as unknown)) return;
    for (const one of object.material ? [object.material].flat() : []) one.wireframe = on;
    object.children.forEach(draw);
  };
  draw(scene.target);
  scene.queueRender();
}
