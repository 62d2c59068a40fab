import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from './base/durable-file.js';

/** The bundles that `gen3d models use` made the defaults of this data directory. */
const ChosenModels = z.strictObject({ bundle: z.string().min(1).optional(), matte: z.string().min(1).optional() });
export type ChosenModels = z.infer<typeof ChosenModels>;

/** In the same folder as the pulled bundles, so that both are copied together. */
export const chosenModelsPath = (dataDir: string): string => join(dataDir, 'models', 'default.json');

/** A missing file is an empty choice. @throws {Error} that says what is wrong with the file */
export function readChosenModels(dataDir: string): ChosenModels {
  let text: string;
  try {
    text = readFileSync(chosenModelsPath(dataDir), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return {};
    throw error;
  }
  const chosen = ChosenModels.safeParse(JSON.parse(text));
  if (!chosen.success) throw new Error(z.prettifyError(chosen.error));
  return chosen.data;
}

/** Sets the given defaults and keeps the others. */
export async function chooseModels(dataDir: string, models: ChosenModels): Promise<void> {
  const chosen = { ...readChosenModels(dataDir), ...models };
  await writeDurably(chosenModelsPath(dataDir), Buffer.from(`${JSON.stringify(chosen, null, 2)}\n`));
}

/** Calls `onChange` within a quarter of a second of each change to the choice. Returns a function that stops it. */
export function watchChosenModels(dataDir: string, onChange: () => void): () => void {
  const path = chosenModelsPath(dataDir);
  // Polled, because fs.watch needs a file that exists and misses changes on network file systems.
  watchFile(path, { interval: 250, persistent: false }, onChange);
  return () => unwatchFile(path, onChange);
}
