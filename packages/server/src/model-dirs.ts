import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from './config.js';

/** The `models/` folder that gen3d was shipped with: beside the package or any folder above it. */
function shippedModels(): string[] {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const models = join(folder, 'models');
    if (existsSync(models)) return [models];
    if (folder === dirname(folder)) return [];
  }
}

/** Folders to look for model bundles in, first match wins: the shipped ones, the data directory's, the one configured. */
export function modelDirs({ dataDir, modelsDir }: Pick<Config, 'dataDir' | 'modelsDir'>): string[] {
  return [...shippedModels(), join(dataDir, 'models'), ...(modelsDir ? [modelsDir] : [])];
}
