import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packagedBundles, packageOf } from './load-bundle.js';

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

/** Returns the folder into which `gen3d models pull` puts bundles. */
export const pulledModelsDir = ({ dataDir }: Pick<ModelFolders, 'dataDir'>): string => join(dataDir, 'models');

/** Folders that are or contain bundles, in order of precedence: shipped, pulled, configured. */
export function modelDirs(config: ModelFolders): string[] {
  return [...modelPackages(), pulledModelsDir(config), ...(config.modelsDir ? [config.modelsDir] : [])];
}
