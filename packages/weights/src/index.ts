export { type CatalogEntry, cpuSeconds, readCatalogs } from './catalog.js';
export { betterBundle, requirementProblem } from './fitting-bundles.js';
export { modelDirs, pulledModelsDir } from './model-dirs.js';
export { type PullOptions, type PullProgress, type PullRequirements, pullBundle } from './pull.js';
