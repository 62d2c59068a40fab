import type { ManifestWithoutGraphs } from '@gen3d/engine/bundles';

/** A bundle that can be pulled. */
export interface OfferedBundle {
  readonly manifest: ManifestWithoutGraphs;
  /** Absent for bundles that are published as they are. `memory` is in bytes, on a CPU. */
  readonly skeleton?: { readonly memory: { readonly fp32: number } } | undefined;
}

export interface PullRequest {
  readonly name: string;
  /** The bundle gets its own folder in this one. */
  readonly directory: string;
  readonly modelDirs: readonly string[];
}

/**
 * Lists what can be pulled, and pulls it. `@gen3d/weights/offers` implements it, and the command line passes it in, so
 * the process that serves the API contains no code that reads catalogs or checkpoints until the operator asks for them.
 */
export interface Offers {
  /** Lists the bundles of all catalogs, from the worst to the best. */
  readCatalogs(modelDirs: readonly string[]): Promise<OfferedBundle[]>;
  /** Estimates the seconds per photo on this CPU. Undefined if the catalog does not state the operations. */
  cpuSeconds(bundle: OfferedBundle): Promise<number | undefined>;
  /** Recommends a bundle that this machine can run and does not have. */
  betterBundle(
    modelDirs: readonly string[],
    hasGpu: boolean,
  ): Promise<(OfferedBundle & { readonly precision?: string }) | undefined>;
  /** Pulls in a process with this environment. @throws {Error} that says why the bundle was not installed */
  pullInProcess(
    request: PullRequest,
    options: {
      onProgress: (bytes: { readonly received: number; readonly total: number }) => void;
      signal: AbortSignal;
      env: NodeJS.ProcessEnv;
    },
  ): Promise<void>;
}
