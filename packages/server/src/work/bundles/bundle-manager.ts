import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import { builtInBundle, installedBundles, isPath, modelDirs, pulledModelsDir, sizeOf } from '@gen3d/engine/bundles';
import type { BundleOverview } from '@gen3d/schema/dashboard';
import type { Logger } from 'pino';
import type { ChosenBundles, Config } from '../../config.js';
import { BackgroundPull } from './background-pull.js';
import type { Offers } from './offers.js';

/** An operator's request that cannot be carried out. The message explains why. */
export class BundleRefusal extends Error {
  override readonly name = 'BundleRefusal';
}

export interface BundleManagerOptions {
  config: Config;
  /** Saves a choice, as `gen3d models use` does. */
  choose: (choice: Partial<ChosenBundles>) => Promise<void>;
  /** Resolves the settings again after a choice. */
  reloadConfig: (() => ChosenBundles) | undefined;
  /** The bundles that runners use, and why they could not open the last choice. */
  runners: { readonly bundles: ChosenBundles; readonly bundleProblem: string | null };
  /** Loads what can be pulled. Undefined if nothing can. */
  offers: (() => Promise<Offers>) | undefined;
  log: Logger;
}

/** Lists, pulls and chooses the bundles of this machine, on behalf of the operator's page. */
export class BundleManager {
  readonly #options: BundleManagerOptions;
  readonly #pull: BackgroundPull;

  constructor(options: BundleManagerOptions) {
    this.#options = options;
    this.#pull = new BackgroundPull(options.log);
  }

  /** The bundles that the next job uses. */
  get inUse(): ChosenBundles {
    return this.#options.runners.bundles;
  }

  /** The name of the bundle that makes the next model. */
  get model(): string {
    const { bundle } = this.inUse;
    return isPath(bundle) ? basename(bundle) : bundle;
  }

  async overview(): Promise<BundleOverview> {
    const { config, runners } = this.#options;
    const dirs = modelDirs(config);
    const found = await installedBundles(dirs);
    const { bundle, matte } = this.inUse;
    const { bavail, bsize } = await statfs(config.dataDir);
    const offers = await this.#options.offers?.();
    const catalog = (await offers?.readCatalogs(dirs)) ?? [];
    const better = await offers?.betterBundle(dirs, false);
    return {
      host: hostname(),
      directory: pulledModelsDir(config),
      free_disk_bytes: bavail * bsize,
      installed: [
        ...found.flatMap((installed) => {
          if ('problem' in installed) return [];
          const { name, kind, title, license } = installed.bundle.manifest;
          const in_use = name === (kind === 'matte' ? matte : bundle);
          return [{ name, kind, title, bytes: sizeOf(installed.bundle), license: license.weights.license, in_use }];
        }),
        {
          name: builtInBundle,
          kind: 'reconstruction',
          title: 'Inflated silhouette',
          bytes: 0,
          license: 'no weights',
          in_use: bundle === builtInBundle,
        },
      ],
      damaged: found.flatMap((installed) =>
        'problem' in installed ? [{ name: installed.name, problem: installed.problem }] : [],
      ),
      offered: await Promise.all(
        catalog
          .filter(({ manifest }) => !found.some(({ name }) => name === manifest.name))
          .map(async (entry) => ({
            name: entry.manifest.name,
            title: entry.manifest.title,
            description: entry.manifest.description,
            bytes: sizeOf(entry),
            license: entry.manifest.license.weights.license,
            memory_bytes: entry.skeleton?.memory.fp32 ?? null,
            cpu_seconds: (await offers?.cpuSeconds(entry)) ?? null,
          })),
      ),
      // The page pulls in the usual precision.
      recommended: better && !better.precision ? better.manifest.name : null,
      pull: this.#pull.status,
      problem: runners.bundleProblem,
    };
  }

  /** Starts to pull a bundle of the catalog. @throws {BundleRefusal} */
  async pull(name: string): Promise<void> {
    const { config } = this.#options;
    const dirs = modelDirs(config);
    const offers = await this.#options.offers?.();
    if (!offers || !(await offers.readCatalogs(dirs)).some(({ manifest }) => manifest.name === name)) {
      throw new BundleRefusal(`The catalog has no bundle called ${name}`);
    }
    if (!this.#pull.start({ name, directory: pulledModelsDir(config), modelDirs: dirs }, offers)) {
      throw new BundleRefusal(`${this.#pull.status?.name} is being pulled. Wait until it is done, or cancel it.`);
    }
  }

  cancelPull(): void {
    this.#pull.cancel();
  }

  /** Makes a bundle the default, as `gen3d models use` does. @throws {BundleRefusal} */
  async use(name: string): Promise<void> {
    const { config, choose, reloadConfig } = this.#options;
    const kind = await this.#settingOf(name);
    await choose({ [kind]: name });
    const resolved = reloadConfig?.()[kind];
    if (resolved !== name) {
      throw new BundleRefusal(
        `${name} is saved as the default, but --${kind}, GEN3D_${kind.toUpperCase()} or the config file overrides it with ${resolved ?? config[kind]}. Remove that setting and restart the server.`,
      );
    }
  }

  async #settingOf(name: string): Promise<'bundle' | 'matte'> {
    if (name === builtInBundle) return 'bundle';
    const installed = (await installedBundles(modelDirs(this.#options.config))).find((one) => one.name === name);
    if (!installed) throw new BundleRefusal(`No bundle called ${name} is installed`);
    if ('problem' in installed) throw new BundleRefusal(installed.problem);
    return installed.bundle.manifest.kind === 'matte' ? 'matte' : 'bundle';
  }
}
