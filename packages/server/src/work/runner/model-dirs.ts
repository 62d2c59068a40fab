import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config.js';

/** The `models/` folder that gen3d was shipped with: beside the package or any folder above it. */
function shippedModels(): string[] {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const models = join(folder, 'models');
    if (existsSync(models)) return [models];
    if (folder === dirname(folder)) return [];
  }
}

/** Where `gen3d models pull` puts bundles. */
export const pulledModelsDir = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'models');

/** Folders to look for model bundles in, first match wins: the shipped ones, the data directory's, the one configured. */
export function modelDirs(config: Pick<Config, 'dataDir' | 'modelsDir'>): string[] {
  return [...shippedModels(), pulledModelsDir(config), ...(config.modelsDir ? [config.modelsDir] : [])];
}
