// Loaded by the job page only, because it is fifteen times as large as the rest of the dashboard.
import '@google/model-viewer';
import type { ModelViewerElement } from '@google/model-viewer';
import { $scene } from '@google/model-viewer/lib/model-viewer-base.js';
import { type Material, Mesh, MeshBasicMaterial, type Object3D } from 'three';

/** Visible on a light and on a dark background. */
const lineColor = 0x5b7cfa;

/**
 * Shows the visible edges of the model's triangles instead of its surface. model-viewer has no setting for that, but it
 * exports its scene.
 * @returns a function that restores the surface
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
  // Invisible, but hides the lines behind it. The offset keeps it from hiding the lines on it.
  const surface = new MeshBasicMaterial({
    colorWrite: false,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  const meshes: { mesh: Mesh; material: Material | Material[]; edges: Mesh }[] = [];
  const collect = (object: Object3D): void => {
    // The shadow is a mesh too, and stays unchanged.
    if (object === (scene.shadow as unknown)) return;
    object.children.forEach(collect);
    const mesh = object as Mesh;
    if (mesh.isMesh) meshes.push({ mesh, material: mesh.material, edges: new Mesh(mesh.geometry, lines) });
  };
  collect(scene.target as unknown as Object3D);
  for (const { mesh, edges } of meshes) {
    mesh.material = surface;
    mesh.add(edges);
  }
  scene.queueRender();
  return () => {
    for (const { mesh, material, edges } of meshes) {
      mesh.remove(edges);
      mesh.material = material;
    }
    lines.dispose();
    surface.dispose();
    scene.queueRender();
  };
}
