export { ConversionError } from './conversion-error.js';
export type { AdjustedGlb, AdjustGlb, GlbFigures, GlbOptions, ModelTools } from './convert-model.js';
export { type Conversion, type ConvertOptions, convertModel } from './convert-model.js';
export {
  type ModelContent,
  type ModelFile,
  type ModelMaterial,
  type ModelPart,
  readModel,
} from './model-parts.js';
export { type ModelFormat, type ModelOptions, modelFormats, type RealSize } from './options.js';
export type { PrintCheck } from './print-check.js';
export { declaredTriangles } from './read-glb.js';
export { editJson } from './write-json.js';
