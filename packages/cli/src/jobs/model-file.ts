import { existsSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import type { DecodeTexture } from '@gen3d/convert';
import { UsageError } from '../exit/failure.js';
import { print } from '../terminal/terminal.js';
import { existsError, formatOf, stdoutPath, writeOutput } from './output-file.js';

interface WriteOptions {
  readonly force?: boolean | undefined;
  /** Names the GLB in errors. */
  readonly source?: string;
}

/**
 * Writes a model in the format of the path's extension. An OBJ gets its MTL and its texture next to it.
 *
 * @returns the size of all files in bytes
 * @throws {UsageError} if a file exists and `force` is not set, or the GLB cannot be converted
 */
export async function writeModel(
  path: string,
  glb: Uint8Array,
  { force = false, source = 'the model' }: WriteOptions = {},
): Promise<number> {
  const files = await convertedFiles(path, glb, source);
  const existing = files.find((file) => !force && existsSync(file.path));
  if (existing) throw existsError(existing.path);
  for (const file of files) await writeOutput(file.path, file.bytes, force);
  return files.reduce((size, { bytes }) => size + bytes.length, 0);
}

/** Prints the path of a written model, unless stdout has the model itself. */
export function printModelPath(path: string): void {
  if (path !== stdoutPath) print(path);
}

async function convertedFiles(
  path: string,
  glb: Uint8Array,
  source: string,
): Promise<{ path: string; bytes: Uint8Array }[]> {
  const format = formatOf(path);
  if (format === 'glb') return [{ path, bytes: glb }];
  const { ConversionError, convertModel } = await import('@gen3d/convert');
  const name = basename(path, extname(path));
  const [main, ...others] = await convertModel(glb, format, { name, decodeTexture }).catch((error: unknown) => {
    if (!(error instanceof ConversionError)) throw error;
    throw new UsageError(`Cannot convert ${source} to ${path}. ${error.message}`, { cause: error });
  });
  // The name as given: its extension may be in capitals.
  return [
    { path, bytes: main!.bytes },
    ...others.map((file) => ({ path: join(dirname(path), file.name), bytes: file.bytes })),
  ];
}

const decodeTexture: DecodeTexture = async (bytes) => {
  const { default: sharp } = await import('sharp');
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
};
