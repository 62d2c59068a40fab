// Loaded by the page of a model only: it is fifteen times the rest of the dashboard.
import '@google/model-viewer';
import type { ModelViewerElement } from '@google/model-viewer';
import { $scene } from '@google/model-viewer/lib/model-viewer-base.js';
import { type Material, Mesh, MeshBasicMaterial, type Object3D } from 'three';

/** Stands out from the light ground and from the dark one. */
const lineColor = 0x5b7cfa;

/**
 * Draws the edges of the model's triangles, those in front only, instead of its surface. model-viewer has no setting for it,
 * but its scene can be had.
 * @returns what shows the surface again
 */
export function showWireframe(viewer: ModelViewerElement): () => void {
  const scene = viewer[$scene];
  const lines = new MeshBasicMaterial({
    color: lineColor,
    wireframe: true,
    transparent: true,
    opacity: 0.55,
    toneMapped: false,
  });
  // Draws nothing, but hides the lines behind it; a little set back, lest it hides those on it.
  const surface = new MeshBasicMaterial({
    colorWrite: false,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  const drawn: { mesh: Mesh; material: Material | Material[]; edges: Mesh }[] = [];
  const collect = (object: Object3D): void => {
    // A plane of its own, which stays what it is.
    if (object === (scene.shadow as unknown)) return;
    object.children.forEach(collect);
    const mesh = object as Mesh;
    if (mesh.isMesh) drawn.push({ mesh, material: mesh.material, edges: new Mesh(mesh.geometry, lines) });
  };
  collect(scene.target as unknown as Object3D);
  for (const { mesh, edges } of drawn) {
    mesh.material = surface;
    mesh.add(edges);
  }
  scene.queueRender();
  return () => {
    for (const { mesh, material, edges } of drawn) {
      mesh.remove(edges);
      mesh.material = material;
    }
    lines.dispose();
    surface.dispose();
    scene.queueRender();
  };
}
