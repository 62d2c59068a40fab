import type { InstalledBundle } from '@gen3d/engine/bundles';
import type { Config } from '@gen3d/server';
import { UsageError } from '../../exit/failure.js';
import { bytes } from '../../terminal/format.js';

/** @throws {UsageError} if the bundle is not installed, with the command that installs it */
export async function requireInstalled(
  name: string,
  bundles: readonly InstalledBundle[],
  config: Config,
): Promise<void> {
  const { installHint, modelDirs, sizeOf } = await import('@gen3d/engine/bundles');
  const { readCatalogs } = await import('@gen3d/weights/offers');
  if (bundles.some((installed) => installed.name === name)) return;
  const installation = installHint(name);
  if (installation) throw new UsageError(`The bundle ${name} is not installed. ${installation}`);
  const available = await readCatalogs(modelDirs(config));
  const entry = available.find(({ manifest }) => manifest.name === name);
  if (entry) {
    const { manifest } = entry;
    const first = `First download ${manifest.title} with \`gen3d models pull ${name}\` (${bytes(sizeOf(entry))})`;
    throw new UsageError(`The bundle ${name} is not installed. ${first}`);
  }
  const hint = '`gen3d models list` shows the installed bundles, and those that `gen3d models pull` can download';
  throw new UsageError(`No bundle is named ${name}. ${hint}`);
}
