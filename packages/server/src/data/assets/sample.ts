import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { AssetKeys, AssetStore } from './asset-store.js';

/** The package's name finds the same folder from the built package and from the sources. */
const shippedSample = join(dirname(createRequire(import.meta.url).resolve('@gen3d/server/package.json')), 'sample');

/** Stores the sample of the public test key among the assets. Undefined if `folder` does not contain one. */
export async function installSample(assets: AssetStore, folder = shippedSample): Promise<AssetKeys | undefined> {
  const model = join(folder, 'model.glb');
  const thumbnail = join(folder, 'thumbnail.jpg');
  if (!existsSync(model) || !existsSync(thumbnail)) return undefined;
  return assets.putSample(await readFile(model), await readFile(thumbnail));
}

/** Limits how long an unresponsive proxy can delay the warning. */
const timeoutMs = 10_000;

/**
 * Says why browsers cannot load `url`, as a sentence for the operator. Undefined if they can. A new bucket is private,
 * which the first user would discover otherwise.
 */
export async function visibilityProblem(url: string): Promise<string | undefined> {
  const advice =
    'see docs/operations/s3.md for the policy of the bucket, or set --assets-url to the public address of the assets';
  try {
    const response = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(timeoutMs) });
    return response.ok ? undefined : `The assets are not public: ${url} returned HTTP ${response.status}; ${advice}`;
  } catch {
    return `The assets cannot be reached from this machine: no response from ${new URL(url).origin}; ${advice}`;
  }
}
