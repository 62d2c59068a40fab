// The errors of the engine. This entry point loads no native part.
export { BundleError, EngineError, type EngineErrorCode, engineErrors, needsTooMuchMemory } from './base/errors.js';
