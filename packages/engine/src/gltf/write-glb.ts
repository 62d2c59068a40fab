import type { PhotoWarning, SamplerSettings } from '@gen3d/schema/rules';
import { Document, NodeIO, type Primitive, type Texture, TextureInfo } from '@gltf-transform/core';
import { digitalSourceType } from '../base/digital-source.js';
import { EngineError } from '../base/errors.js';
import type { TexturedMesh } from '../base/mesh.js';

// Writes the model as one binary glTF 2.0 file that passes Khronos's validator: one mesh, one material, one texture.
// GLBs are passed on without other files, so the generator, the bundles with their licenses, the camera of the photo
// and the warnings are inside. Positions and normals stay float32, because quantized ones need an extension that some
// programs do not read.

/** An encoded base color texture, sRGB. */
export interface GlbTexture {
  readonly bytes: Uint8Array;
  readonly mimeType: 'image/jpeg' | 'image/png';
}

/** A bundle that was used for a model. */
export interface BundleCredit {
  readonly name: string;
  /** Terms of the weights. */
  readonly license: string;
  /** Where the weights are from, if a model server has them. */
  readonly source?: string;
  /** Precision of the weights, and SHA-256 of their checkpoint, if `gen3d models pull` made the bundle from one. */
  readonly precision?: string;
  readonly checkpointSha256?: string;
}

/** How the photo shows the model, to lay one over the other. Model space is that of the GLB. */
export interface PhotoView {
  /** Position of the photo's camera in model space. */
  readonly cameraPosition: readonly number[];
  /** A point on the axis of the camera, in model space. It is in the middle of the frame. */
  readonly cameraTarget: readonly number[];
  /** The angle by which the model is turned counterclockwise in the photo. Absent if the camera was upright. */
  readonly rollRadians?: number;
  /** Angle of view of the frame, which is a square, in radians. */
  readonly fieldOfView: number;
  /** The frame's position and size, as shares of the photo's width and height, from its top left corner. */
  readonly frame: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
}

/** Describes the file. Its origin and terms are inside, because GLBs are passed on without accompanying files. */
export interface GlbMetadata {
  /** Name and version of the program, as in `gen3d 1.2.3`. */
  readonly generator: string;
  readonly bundles: readonly BundleCredit[];
  /** These settings repeat a model: same network, same photo, same device. */
  readonly sampler?: SamplerSettings | undefined;
  readonly photo?: PhotoView;
  /** What makes the model worse than it could be. */
  readonly warnings?: readonly PhotoWarning[];
}

/** Indices stay below this: 65,535 is the primitive restart value, which glTF forbids. */
const maxVerticesWithShortIndices = 65_535;

/**
 * Writes a binary glTF 2.0 file: one node, one mesh, one primitive, one single-sided PBR material.
 *
 * Units and axes are those of the mesh: meters, Y up, +Z front. Attributes are float32: 40,000 triangles take about
 * 1.1 MB besides the texture, and some importers do not support quantized ones (KHR_mesh_quantization). Triangles with
 * a repeated corner are left out. A zero normal becomes one that points up.
 *
 * @throws {EngineError} `inference_failed` if no triangle is left or a coordinate is not a number
 */
export async function writeGlb(mesh: TexturedMesh, texture: GlbTexture, metadata: GlbMetadata): Promise<Uint8Array> {
  const indices = withoutDegenerates(mesh.indices);
  if (indices.length === 0) {
    throw new EngineError(
      'inference_failed',
      'The model made of this photo has no surface. Try a photo that shows the whole object, well lit, from a little above.',
    );
  }
  if (![mesh.positions, mesh.normals, mesh.uvs].every((values) => values.every(Number.isFinite))) {
    throw new EngineError(
      'inference_failed',
      'The model made of this photo has coordinates that are not numbers. Try another device: `--device cpu`.',
    );
  }

  const document = new Document();
  Object.assign(document.getRoot().getAsset(), {
    generator: metadata.generator,
    extras: {
      digitalSourceType,
      bundles: metadata.bundles,
      ...(metadata.sampler && { sampler: metadata.sampler }),
      ...(metadata.photo && { photo: metadata.photo }),
      ...(metadata.warnings?.length && { warnings: metadata.warnings }),
    },
  });
  const baseColor = document.createTexture('baseColor').setImage(texture.bytes).setMimeType(texture.mimeType);
  const primitive = createPrimitive(document, mesh, indices).setMaterial(createMaterial(document, baseColor));
  const node = document.createNode('object').setMesh(document.createMesh('object').addPrimitive(primitive));
  document.getRoot().setDefaultScene(document.createScene('scene').addChild(node));
  return new NodeIO().writeBinary(document);
}

function createPrimitive(document: Document, mesh: TexturedMesh, indices: Uint32Array): Primitive {
  const buffer = document.createBuffer();
  const vertexCount = mesh.positions.length / 3;
  const accessor = (type: 'SCALAR' | 'VEC2' | 'VEC3', array: Float32Array | Uint16Array | Uint32Array) =>
    document.createAccessor().setType(type).setArray(array).setBuffer(buffer);
  return document
    .createPrimitive()
    .setIndices(accessor('SCALAR', vertexCount <= maxVerticesWithShortIndices ? Uint16Array.from(indices) : indices))
    .setAttribute('POSITION', accessor('VEC3', mesh.positions))
    .setAttribute('NORMAL', accessor('VEC3', unitNormals(mesh.normals)))
    .setAttribute('TEXCOORD_0', accessor('VEC2', mesh.uvs));
}

function createMaterial(document: Document, baseColor: Texture) {
  const material = document
    .createMaterial('surface')
    .setBaseColorTexture(baseColor)
    .setMetallicFactor(0)
    // The texture already has the photo's highlights. A glossy material would add others.
    .setRoughnessFactor(0.8);
  material
    .getBaseColorTextureInfo()!
    .setMagFilter(TextureInfo.MagFilter.LINEAR!)
    .setMinFilter(TextureInfo.MinFilter.LINEAR_MIPMAP_LINEAR!)
    // An atlas does not repeat. Wrapping would blend its left and right edges.
    .setWrapS(TextureInfo.WrapMode.CLAMP_TO_EDGE!)
    .setWrapT(TextureInfo.WrapMode.CLAMP_TO_EDGE!);
  return material;
}

function withoutDegenerates(indices: Uint32Array): Uint32Array {
  const kept = new Uint32Array(indices.length);
  let length = 0;
  for (let i = 0; i < indices.length; i += 3) {
    const a = indices[i]!;
    const b = indices[i + 1]!;
    const c = indices[i + 2]!;
    if (a === b || b === c || c === a) continue;
    kept[length++] = a;
    kept[length++] = b;
    kept[length++] = c;
  }
  return kept.subarray(0, length);
}

function unitNormals(normals: Float32Array): Float32Array {
  const units = new Float32Array(normals.length);
  for (let i = 0; i < normals.length; i += 3) {
    const length = Math.hypot(normals[i]!, normals[i + 1]!, normals[i + 2]!);
    if (length === 0) units[i + 1] = 1;
    else for (let axis = i; axis < i + 3; axis++) units[axis] = normals[axis]! / length;
  }
  return units;
}
