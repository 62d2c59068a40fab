// three ships without types. These are the parts of it that model-viewer.ts uses.
declare module 'three' {
  export class Material {
    dispose(): void;
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
  export class Object3D {
    readonly children: Object3D[];
    add(child: Object3D): this;
    remove(child: Object3D): this;
  }
  export class Mesh extends Object3D {
    constructor(geometry: unknown, material: Material);
    readonly isMesh: true;
    geometry: unknown;
    material: Material | Material[];
  }
}
