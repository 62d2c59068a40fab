import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from './base/durable-file.js';

/** Describes the file with the bundles that `gen3d models use` made the defaults of this data directory. */
const BundleChoice = z.strictObject({ bundle: z.string().min(1).optional(), matte: z.string().min(1).optional() });
export type BundleChoice = z.infer<typeof BundleChoice>;

/** Returns the file's path. It is next to the pulled bundles, so a backup contains both. */
export const bundleChoicePath = (dataDir: string): string => join(dataDir, 'models', 'default.json');

/** Reads the choice, which is empty if the file is missing. @throws {Error} that says what is wrong with the file */
export function readBundleChoice(dataDir: string): BundleChoice {
  let text: string;
  try {
    text = readFileSync(bundleChoicePath(dataDir), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return {};
    throw error;
  }
  const chosen = BundleChoice.safeParse(JSON.parse(text));
  if (!chosen.success) throw new Error(z.prettifyError(chosen.error));
  return chosen.data;
}

/** Sets the given defaults and keeps the others. */
export async function chooseBundles(dataDir: string, choice: BundleChoice): Promise<void> {
  const chosen = { ...readBundleChoice(dataDir), ...choice };
  await writeDurably(bundleChoicePath(dataDir), Buffer.from(`${JSON.stringify(chosen, null, 2)}\n`));
}
