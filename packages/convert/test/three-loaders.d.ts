// three ships without types. These are the parts of its loaders that the tests use.
interface Attribute {
  readonly count: number;
  readonly array: Float32Array;
}
interface Geometry {
  readonly index: Attribute | null;
  readonly attributes: Record<string, Attribute>;
}
declare module 'three/examples/jsm/loaders/OBJLoader.js' {
  export class OBJLoader {
    parse(text: string): { children: { geometry: Geometry }[] };
  }
}
declare module 'three/examples/jsm/loaders/PLYLoader.js' {
  export class PLYLoader {
    parse(file: ArrayBufferLike): Geometry;
  }
}
declare module 'three/examples/jsm/loaders/STLLoader.js' {
  export class STLLoader {
    parse(file: ArrayBufferLike): Geometry;
  }
}
declare module 'three/examples/jsm/loaders/usd/USDAParser.js' {
  export class USDAParser {
    parseText(text: string): unknown;
  }
}
