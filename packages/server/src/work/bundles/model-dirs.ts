import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config.js';

/** The `models/` folder that ships with gen3d: in the package's folder or in one above it. */
function shippedModels(): string[] {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const models = join(folder, 'models');
    if (existsSync(models)) return [models];
    if (folder === dirname(folder)) return [];
  }
}

/** Where `gen3d models pull` puts bundles. */
export const pulledModelsDir = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'models');

/** Folders with bundles, in order of precedence: shipped, pulled, configured. */
export function modelDirs(config: Pick<Config, 'dataDir' | 'modelsDir'>): string[] {
  return [...shippedModels(), pulledModelsDir(config), ...(config.modelsDir ? [config.modelsDir] : [])];
}
