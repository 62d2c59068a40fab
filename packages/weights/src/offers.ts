// The catalog, and which of its bundles fit this machine. Nothing here reads checkpoints.
export { type CatalogEntry, cpuSeconds, readCatalogs } from './catalog.js';
export { betterBundle, requirementProblem } from './fitting-bundles.js';
