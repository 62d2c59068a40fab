// The catalog, and which of its bundles fit this machine. Nothing here reads checkpoints.
export { type CatalogEntry, readCatalogs } from './catalog.js';
export { requirementProblem } from './fitting-bundles.js';
