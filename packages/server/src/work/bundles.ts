import { hostname } from 'node:os';
import { basename } from 'node:path';
import { builtInBundle, installedBundles, isPath, modelDirs, pulledModelsDir, sizeOf } from '@gen3d/engine/bundles';
import type { BundleOverview } from '@gen3d/schema/dashboard';
import type { Config } from '../config.js';

/** Returns the name of the bundle that makes the models. */
export const modelBundle = ({ bundle }: Pick<Config, 'bundle'>): string => (isPath(bundle) ? basename(bundle) : bundle);

/** Lists the bundles of this machine for the operator's page. `gen3d models` pulls and chooses them. */
export async function bundleOverview(config: Config): Promise<BundleOverview> {
  const found = await installedBundles(modelDirs(config));
  const builtIn = {
    name: builtInBundle,
    kind: 'reconstruction',
    title: 'Inflated silhouette',
    bytes: 0,
    license: 'no weights',
    in_use: config.bundle === builtInBundle,
  } as const;
  return {
    host: hostname(),
    directory: pulledModelsDir(config),
    installed: [
      ...found.flatMap((installed) => {
        if ('problem' in installed) return [];
        const { name, kind, title, license } = installed.bundle.manifest;
        const in_use = name === (kind === 'matte' ? config.matte : config.bundle);
        return [{ name, kind, title, bytes: sizeOf(installed.bundle), license: license.weights.license, in_use }];
      }),
      builtIn,
    ],
    damaged: found.flatMap((installed) =>
      'problem' in installed ? [{ name: installed.name, problem: installed.problem }] : [],
    ),
  };
}
