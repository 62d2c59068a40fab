export { type ConvertOptions, convertModel, type ModelFormat, modelFormats } from './convert-model.js';
export {
  type ModelContent,
  type ModelFile,
  type ModelMaterial,
  type ModelPart,
  readModel,
} from './model-parts.js';
export type { DecodedTexture, DecodeTexture } from './ply.js';
export { ConversionError } from './read-glb.js';
