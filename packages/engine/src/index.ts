export { digitalSourceType } from './base/digital-source.js';
export { BundleError, EngineError, type EngineErrorCode } from './base/errors.js';
export type { RgbaImage } from './base/image.js';
export type { TexturedMesh } from './base/mesh.js';
export { type Bundle, bundleOfKind, findBundle, isPath, loadBundle, verifyBundle } from './bundle/load-bundle.js';
export type { HttpManifest, Manifest, MatteManifest, ReconstructionManifest } from './bundle/manifest.js';
export { checkBundle, testBundle } from './checks/test-bundle.js';
export { accelerators, type Device, gpuMemory } from './device/adapter.js';
export { type ChosenDevice, type DeviceReport, inspectDevice } from './device/choose-device.js';
export type { EngineOptions } from './device/engine-device.js';
export { findAdapter } from './device/find-adapter.js';
export { probe } from './device/probe.js';
export {
  Engine,
  type FoundView,
  type Generated,
  type GenerateOptions,
  type GenerateStats,
  type Stage,
} from './engine.js';
export { problemOfGlb } from './gltf/check-glb.js';
export { renderPartThumbnails } from './part-thumbnails.js';
export { type DecodedPhoto, decode } from './photo/decode.js';
export type { Photos, SidePhoto } from './photo/side-photo.js';
export { EnginePool, type PoolGenerateOptions, type PoolOptions } from './pool/engine-pool.js';
export type { PoolGenerated, PoolProgress } from './pool/threads.js';
export { renderView } from './render/render-view.js';
