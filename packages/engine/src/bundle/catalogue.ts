import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BundleError } from '../base/errors.js';
import { FileName, Manifest, ManifestWithoutGraphs } from './manifest.js';
import { parseJson } from './parse-json.js';

/**
 * `models/catalogue.json`: bundles that are not shipped and can be pulled. An entry is the manifest to write beside the
 * files and, for each of the manifest's files, its address; the manifest's SHA-256 decides whether the right file came,
 * so the connection need not be trusted.
 */
const Entry = z
  .strictObject({
    manifest: ManifestWithoutGraphs,
    urls: z.record(z.string(), z.url({ protocol: /^https?$/ })),
    /** The graphs are made of a skeleton and of a checkpoint, which is the manifest's only file. */
    skeleton: z
      .strictObject({
        folder: z.string().regex(/^[a-z0-9-]+(\/[a-z0-9-]+)*$/, 'a folder below the one of the catalogue'),
        notice: FileName.describe("the text in that folder that becomes the bundle's NOTICE.md"),
        memory: z.int().positive().describe('bytes that the network takes while it runs on a CPU'),
      })
      .optional(),
  })
  .check(({ value, issues }) => {
    for (const { name } of value.manifest.files) {
      if (!value.urls[name])
        issues.push({ code: 'custom', path: ['urls', name], message: 'missing', input: value.urls });
    }
    if (value.skeleton) {
      const { files } = value.manifest;
      if (files.length === 1) return;
      const message = 'must be the checkpoint alone, where there is a skeleton';
      issues.push({ code: 'custom', path: ['manifest', 'files'], message, input: files });
      return;
    }
    const { error } = Manifest.safeParse(value.manifest);
    for (const { path, message } of error?.issues ?? []) {
      issues.push({ code: 'custom', path: ['manifest', ...path], message, input: value.manifest });
    }
  });

export const Catalogue = z.strictObject({ formatVersion: z.literal(1), bundles: z.array(Entry) });
export type Catalogue = z.infer<typeof Catalogue>;
export type CatalogueEntry = Catalogue['bundles'][number] & {
  /** The folder of the catalogue. */
  readonly directory: string;
};

/** Every entry of the `catalogue.json` files in these folders. @throws {BundleError} naming a file that is not one */
export async function readCatalogues(modelDirs: readonly string[]): Promise<CatalogueEntry[]> {
  const entries: CatalogueEntry[] = [];
  for (const directory of modelDirs) {
    const path = join(directory, 'catalogue.json');
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const { bundles } = parseJson(Catalogue, text, path, 'a catalogue');
    entries.push(...bundles.map((entry) => ({ ...entry, directory })));
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
