import type { InstalledBundle } from '@gen3d/engine/bundles';

/** Describes a bundle in the `--json` output of `models` and `doctor`. */
export async function describeBundle(installed: InstalledBundle): Promise<object> {
  const { name, directory } = installed;
  if ('problem' in installed) return { name, directory, problem: installed.problem };
  const { sizeOf } = await import('@gen3d/engine/bundles');
  const { kind, title, license } = installed.bundle.manifest;
  return { name, directory, kind, title, bytes: sizeOf(installed.bundle), license, notice: installed.notice };
}
