// Bundles and defaults, for programs that do not run networks. This entry point loads no inference runtime.
export { BundleError, MissingBundleError } from './base/errors.js';
export { bundleFolders, packagedBundles, packageOf } from './bundle/bundle-folders.js';
export {
  type InstalledBundle,
  installedBundle,
  installedBundles,
  sizeOf,
} from './bundle/installed-bundles.js';
export {
  type Bundle,
  builtInBundle,
  findBundle,
  loadBundle,
  parseJson,
  parseManifest,
  sha256Of,
  verifyBundle,
} from './bundle/load-bundle.js';
export {
  type BundleFile,
  FileName,
  Manifest,
  ManifestWithoutGraphs,
  type Origin,
  type Precision,
} from './bundle/manifest.js';
export { meshDefaults } from './mesh-defaults.js';
export { assemble, readSkeleton, type Skeleton, weightBytes } from './skeleton/assemble.js';
