import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BundleError } from '../errors.js';
import { Manifest } from './manifest.js';
import { parseJson } from './parse-json.js';

/**
 * `models/catalogue.json`: bundles that are not shipped and can be pulled. An entry is the manifest to write beside the
 * files and, for each of the manifest's files, where it lies; the manifest's SHA-256 decides whether what came is right,
 * so the way there need not be trusted.
 */
export const Catalogue = z.strictObject({
  formatVersion: z.literal(1),
  bundles: z.array(
    z
      .strictObject({ manifest: Manifest, urls: z.record(z.string(), z.url({ protocol: /^https?$/ })) })
      .check(({ value, issues }) => {
        for (const { name } of value.manifest.files) {
          if (!value.urls[name])
            issues.push({ code: 'custom', path: ['urls', name], message: 'missing', input: value.urls });
        }
      }),
  ),
});
export type Catalogue = z.infer<typeof Catalogue>;
export type CatalogueEntry = Catalogue['bundles'][number];

/** Every entry of the `catalogue.json` files in these folders. @throws {BundleError} naming a file that is not one */
export async function readCatalogues(modelDirs: readonly string[]): Promise<CatalogueEntry[]> {
  const entries: CatalogueEntry[] = [];
  for (const path of modelDirs.map((directory) => join(directory, 'catalogue.json'))) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) entries.push(...parseJson(Catalogue, text, path, 'a catalogue').bundles);
  }
  return entries;
}

/** @throws {BundleError} if none has an entry of this name, saying which names there are */
export async function findInCatalogue(name: string, modelDirs: readonly string[]): Promise<CatalogueEntry> {
  const entries = await readCatalogues(modelDirs);
  const entry = entries.find(({ manifest }) => manifest.name === name);
  if (entry) return entry;
  const names = entries.map(({ manifest }) => manifest.name).join(', ');
  throw new BundleError(
    `No catalogue lists a bundle called ${name}${names ? `; there are ${names}` : ''}. Give the address of its manifest.json`,
  );
}
