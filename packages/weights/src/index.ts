export { betterBundle } from './better-bundle.js';
export { type CatalogEntry, cpuSeconds, readCatalogs } from './catalog.js';
export { requirementProblem } from './gpu-requirement.js';
export { modelDirs, pulledModelsDir } from './model-dirs.js';
export { type PullOptions, type PullProgress, type PullRequirements, pullBundle } from './pull.js';
