import { type Bundle, BundleError, findBundle, modelDirs } from '@gen3d/engine/bundles';
import type { Logger } from 'pino';
import type { Config } from './config.js';

/**
 * Warns if the matting bundle is missing or damaged. Cutouts work without it, so that does not prevent the start. A
 * model server separates objects from backgrounds itself.
 */
export async function warnOfMissingMatte(config: Config, log: Logger): Promise<void> {
  const find = (name: string) => findBundle(name, modelDirs(config)).catch((error: unknown) => error);
  const [problem, bundle] = [await find(config.matte), await find(config.bundle)];
  const isElsewhere = !(bundle instanceof Error) && (bundle as Bundle).manifest.kind === 'http';
  if (!(problem instanceof BundleError) || isElsewhere) return;
  log.warn(`Only photos with a transparent background become models. ${problem.message}. Then restart this process.`);
}
