// The catalog, which of its bundles fit this machine, and pulls in another process. Nothing here reads checkpoints.
export { type CatalogEntry, cpuSeconds, readCatalogs } from './catalog.js';
export { betterBundle, requirementProblem } from './fitting-bundles.js';
export { type PullRequest, pullInProcess } from './pull-in-process.js';
