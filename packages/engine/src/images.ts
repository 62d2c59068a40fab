// The part of the engine that reads images. It loads no inference runtime, so a process that only decodes stays small.
export { EngineError, type EngineErrorCode } from './errors.js';
export { type DecodeOptions, type ImageHeader, needsTooMuchMemory, readHeader } from './photo/decode.js';
export { normalizeImage } from './photo/normalize.js';
