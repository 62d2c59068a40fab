import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { Config } from '@gen3d/server';
import { errorMessage } from '../../exit/failure.js';
import { bytes } from '../../terminal/format.js';

/** A `problem` keeps gen3d from working on this machine. A `note` is only information. */
export interface Finding {
  readonly topic: string;
  readonly level: 'ok' | 'note' | 'problem';
  readonly text: string;
}

const finding =
  (level: Finding['level']) =>
  (topic: string, text: string): Finding => ({ topic, level, text });
export const ok = finding('ok');
export const note = finding('note');
export const problem = finding('problem');

// Enough for the networks of `models pull triposr`, and some hundred models of 1 to 3 MB.
const recommendedDisk = 2e9;

// The peak of one job, plus the API and the operating system.
const recommendedMemory = 4 * 1024 ** 3;

/** Compares the memory of this machine, or of its container, with what the shipped network needs. */
export function memoryFinding(): Finding {
  // The limit of a container. Zero, or more than the physical memory, means unlimited.
  const memory = Math.min(totalmem(), process.constrainedMemory() || totalmem());
  const size = `${bytes(memory)}, ${bytes(process.availableMemory())} available`;
  return memory >= recommendedMemory ? ok('memory', size) : note('memory', `${size}. 4 GB are recommended`);
}

/** Loads SQLite, sharp and onnxruntime. */
export async function nativeFindings(): Promise<Finding[]> {
  const { inspectNativeParts } = await import('@gen3d/engine/bundles');
  const parts = await inspectNativeParts();
  return [
    await sqliteFinding(),
    ...parts.map((part) => ('problem' in part ? problem(part.name, part.problem) : ok(part.name, part.version))),
  ];
}

async function sqliteFinding(): Promise<Finding> {
  const { sqliteLibrary } = await import('@gen3d/server');
  try {
    const { release, version } = sqliteLibrary();
    return ok('sqlite', `${version}, from better-sqlite3 ${release}`);
  } catch (error) {
    return problem('sqlite', errorMessage(error));
  }
}

/** Whether images are decoded in a sandbox. */
export async function sandboxFinding({ decoderSandbox }: Config): Promise<Finding> {
  const { findSandbox } = await import('@gen3d/server');
  const { sandbox, text } = await findSandbox(decoderSandbox);
  const level = sandbox ? ok : decoderSandbox === 'require' ? problem : note;
  return level('sandbox', text);
}

/** Tries a database in `folder`, which must exist, and the bucket. */
export async function storageFindings(config: Config, folder: string): Promise<Finding[]> {
  const { tryBucket, trySqlite } = await import('@gen3d/server');
  const finding = (topic: string, text: string, tried: Promise<void>): Promise<Finding> =>
    tried.then(
      () => ok(topic, text),
      (error: unknown) => problem(topic, errorMessage(error)),
    );
  const { database, assets } = config;
  return Promise.all([
    ...(database === 'sqlite' ? [finding('database', 'SQLite works in the data directory', trySqlite(folder))] : []),
    ...(assets?.startsWith('s3://') ? [finding('bucket', assets, tryBucket(config))] : []),
  ]);
}

/** Checks the disk of `folder`, which must exist. */
export async function diskFinding(folder: string): Promise<Finding> {
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const text = `${bytes(free)} free for ${folder}`;
    return free >= recommendedDisk
      ? ok('disk', text)
      : note('disk', `${text}. ${bytes(recommendedDisk)} are recommended`);
  } catch (error) {
    return note('disk', `unknown: ${errorMessage(error)}`);
  }
}
