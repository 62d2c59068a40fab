// Loaded by the job page only, because it is fifteen times as large as the rest of the dashboard.
import '@google/model-viewer';
import type { ModelViewerElement } from '@google/model-viewer';
import { $scene } from '@google/model-viewer/lib/model-viewer-base.js';
import { Mesh, MeshBasicMaterial, MeshStandardMaterial, type Object3D } from 'three';
import * as z from 'zod/mini';

/** This color is visible on a light and on a dark background. */
const lineColor = 0x5b7cfa;
const clayColor = 0xa3988b;

export interface ModelFigures {
  triangles: number;
  vertices: number;
  /** The texture's size in pixels. Undefined if the model has no texture. */
  texture: { width: number; height: number } | undefined;
}

const Vector = z.tuple([z.number(), z.number(), z.number()]);
/** The engine's `PhotoView` says how the photo shows the model. The frame is a square in the middle of the view. */
const PhotoView = z.object({
  cameraPosition: Vector,
  cameraTarget: Vector,
  fieldOfView: z.number(),
  frame: z.object({ left: z.number(), top: z.number(), width: z.number(), height: z.number() }),
});
export type PhotoView = z.infer<typeof PhotoView>;

/** Reads how the photo shows the model. Undefined for a model that does not say, such as the sample. */
export function photoViewOf(viewer: ModelViewerElement): PhotoView | undefined {
  return PhotoView.safeParse(viewer.originalGltfJson?.asset.extras?.photo).data;
}

function distanceOf({ cameraPosition, cameraTarget }: PhotoView): number {
  return Math.hypot(...cameraPosition.map((value, axis) => value - cameraTarget[axis]!));
}

/** Looks at the model from the photo's camera. The photo's frame fills the shorter side of the element. */
export function lookFromPhoto(viewer: ModelViewerElement, view: PhotoView): void {
  const { cameraPosition: from, cameraTarget: target, fieldOfView } = view;
  const distance = distanceOf(view);
  const yaw = Math.atan2(from[0] - target[0], from[2] - target[2]);
  const polarAngle = Math.acos((from[1] - target[1]) / distance);
  const { idealAspect, aspect } = viewer[$scene];
  // model-viewer widens the angle of view by the divisor, to fit wide models into narrow elements.
  const halfTangent = (Math.tan(fieldOfView / 2) * Math.max(1, 1 / aspect)) / Math.max(1, idealAspect / aspect);
  const angle = `${2 * Math.atan(halfTangent)}rad`;
  // Without these limits, model-viewer would keep the camera within its automatic ones.
  viewer.minCameraOrbit = `auto auto ${distance / 4}m`;
  viewer.maxCameraOrbit = `auto auto ${distance}m`;
  viewer.maxFieldOfView = angle;
  viewer.resetTurntableRotation();
  viewer.cameraTarget = target.map((value) => `${value}m`).join(' ');
  viewer.fieldOfView = angle;
  viewer.cameraOrbit = `${yaw}rad ${polarAngle}rad ${distance}m`;
}

/** Computes where the photo belongs on top of the model, as styles relative to the element. */
export function photoPlacement(viewer: ModelViewerElement, view: PhotoView) {
  const { clientWidth, clientHeight } = viewer;
  const zoom = distanceOf(view) / viewer.getCameraOrbit().radius;
  const halfTangent = Math.tan((viewer.getFieldOfView() / 360) * Math.PI);
  const side = (zoom * clientHeight * Math.tan(view.fieldOfView / 2)) / halfTangent;
  const { left, top, width, height } = view.frame;
  return {
    left: `${clientWidth / 2 - side / 2 - (left * side) / width}px`,
    top: `${clientHeight / 2 - side / 2 - (top * side) / height}px`,
    width: `${side / width}px`,
    height: `${side / height}px`,
  };
}

/** Counts the parts of the model. */
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
