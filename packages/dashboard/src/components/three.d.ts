// three ships without types. These are the parts of it that model-viewer.ts uses.
declare module 'three' {
  export class Material {
    dispose(): void;
    readonly map?: { readonly image: { readonly width: number; readonly height: number } | null } | null;
  }
  export class MeshBasicMaterial extends Material {
    constructor(parameters: {
      color?: number;
      wireframe?: boolean;
      transparent?: boolean;
      opacity?: number;
      toneMapped?: boolean;
      colorWrite?: boolean;
      polygonOffset?: boolean;
      polygonOffsetFactor?: number;
      polygonOffsetUnits?: number;
    });
  }
  export class MeshStandardMaterial extends Material {
    constructor(parameters: { color: number; roughness: number; metalness: number });
  }
  interface BufferGeometry {
    readonly index: { readonly count: number } | null;
    readonly attributes: { readonly position: { readonly count: number } };
  }
  export class Object3D {
    readonly children: Object3D[];
    add(child: Object3D): this;
    remove(child: Object3D): this;
  }
  export class Mesh extends Object3D {
    constructor(geometry: BufferGeometry, material: Material);
    readonly isMesh: true;
    geometry: BufferGeometry;
    material: Material | Material[];
  }
}
