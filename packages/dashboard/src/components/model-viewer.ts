// Loaded by the job page only, because it is fifteen times as large as the rest of the dashboard.
import '@google/model-viewer';
import type { ModelViewerElement } from '@google/model-viewer';
import { $scene } from '@google/model-viewer/lib/model-viewer-base.js';
import { Mesh, MeshBasicMaterial, MeshStandardMaterial, type Object3D } from 'three';

/** This color is visible on a light and on a dark background. */
const lineColor = 0x5b7cfa;
const clayColor = 0xa3988b;

export interface ModelFigures {
  triangles: number;
  vertices: number;
  /** The texture's size in pixels. Undefined if the model has no texture. */
  texture: { width: number; height: number } | undefined;
}

/** Measures the model: its triangles, vertices and texture. */
export function measure(viewer: ModelViewerElement): ModelFigures {
  const figures: ModelFigures = { triangles: 0, vertices: 0, texture: undefined };
  for (const { geometry, material } of meshesOf(viewer)) {
    const vertices = geometry.attributes.position.count;
    figures.vertices += vertices;
    figures.triangles += (geometry.index?.count ?? vertices) / 3;
    const image = [material].flat()[0]?.map?.image;
    if (image) figures.texture = { width: image.width, height: image.height };
  }
  return figures;
}

/**
 * Shows the model without its texture: as clay, or as the visible edges of its triangles. model-viewer has no setting
 * for that, but it exports its scene.
 * @returns a function that restores the surface
 */
export function showSurface(viewer: ModelViewerElement, surface: 'clay' | 'wireframe'): () => void {
  const scene = viewer[$scene];
  const meshes = meshesOf(viewer).map((mesh) => ({ mesh, material: mesh.material }));
  const clay = new MeshStandardMaterial({ color: clayColor, roughness: 0.9, metalness: 0 });
  // Invisible, but hides the lines behind it. The offset keeps it from hiding the lines on it.
  const hidden = new MeshBasicMaterial({
    colorWrite: false,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  const lines = new MeshBasicMaterial({
    color: lineColor,
    wireframe: true,
    transparent: true,
    opacity: 0.55,
    toneMapped: false,
  });
  const edges = surface === 'wireframe' ? meshes.map(({ mesh }) => new Mesh(mesh.geometry, lines)) : [];
  for (const [index, { mesh }] of meshes.entries()) {
    mesh.material = surface === 'clay' ? clay : hidden;
    const added = edges[index];
    if (added) mesh.add(added);
  }
  scene.queueRender();
  return () => {
    for (const [index, { mesh, material }] of meshes.entries()) {
      mesh.material = material;
      const added = edges[index];
      if (added) mesh.remove(added);
    }
    for (const material of [clay, hidden, lines]) material.dispose();
    scene.queueRender();
  };
}

function meshesOf(viewer: ModelViewerElement): Mesh[] {
  const scene = viewer[$scene];
  const meshes: Mesh[] = [];
  const collect = (object: Object3D): void => {
    // The shadow is a mesh too, and stays unchanged.
    if (object === (scene.shadow as unknown)) return;
    object.children.forEach(collect);
    const mesh = object as Mesh;
    if (mesh.isMesh) meshes.push(mesh);
  };
  collect(scene.target as unknown as Object3D);
  return meshes;
}
