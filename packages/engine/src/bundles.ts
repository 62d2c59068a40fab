// Bundles, defaults and checks, for programs that do not run networks. This entry point loads no native part.
export { BundleError, NativePartError } from './base/errors.js';
export { meshDefaults } from './base/mesh-defaults.js';
export { loadProblem } from './base/native-part.js';
export {
  type Bundle,
  builtInBundle,
  bundleFolders,
  findBundle,
  type InstalledBundle,
  installedBundle,
  installedBundles,
  installHint,
  isPath,
  loadBundle,
  packagedBundles,
  parseJson,
  sha256Of,
  sizeOf,
  verifyBundle,
} from './bundle/load-bundle.js';
export {
  type BundleFile,
  FileName,
  graphsOf,
  Manifest,
  ManifestWithoutGraphs,
  type Origin,
  type Precision,
} from './bundle/manifest.js';
export { modelDirs, pulledModelsDir } from './bundle/model-dirs.js';
export { assumedSpeed, flopsOf } from './device/cpu-speed.js';
export { inspectNativeParts, type NativePart } from './native-parts.js';
export { toFloat16 } from './network/float16.js';
