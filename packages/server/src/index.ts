import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HttpManifest } from '@gen3d/engine';
import { type Admin, openAdmin as open } from './admin.js';
import { type Move, type MoveReport, migrateTo as move } from './cluster/moving/migrate-to.js';
import { worker as startWorker } from './cluster/worker.js';
import { edges } from './composition.js';
import type { Config } from './config.js';
import { migrate, openDatabase } from './data/db/open.js';
import { sqlite } from './data/db/sqlite.js';
import { dataDirOf } from './data/installation/data-dir.js';
import { ModelServer } from './foreign/model-server/model-server.js';
import { type ServeOptions, type Server, serve as startServer } from './serve.js';

export type { Admin } from './admin.js';
export { AdminError, ConfigError } from './base/errors.js';
export { createLog, isLogForPeople } from './base/log.js';
export { type BundleChoice, chooseBundles } from './chosen-bundles.js';
export type { Move, MoveReport } from './cluster/moving/migrate-to.js';
export { type Config, defaultDataDir, loadConfig, type Setting, settings } from './config.js';
export { sqliteLibrary } from './data/db/sqlite-connection.js';
export { type Backup, backup } from './data/installation/backup.js';
export { serverUrlIn } from './data/installation/data-dir.js';
export type { ServeOptions, Server } from './serve.js';
export { RunnerStartError } from './work/children.js';
export { findSandbox } from './work/preparation/sandbox.js';

export const serve = (config: Config, options?: ServeOptions): Promise<Server> => startServer(edges, config, options);

export const worker = (config: Config, options?: Pick<ServeOptions, 'log'>): Promise<Pick<Server, 'close'>> =>
  startWorker(edges, config, options);

export const openAdmin = (config: Config): Promise<Admin> => open(edges, config);

/**
 * Asks the model server of a bundle whether it accepts requests. Returns a sentence that says why not, or undefined.
 *
 * @example
 * if (manifest.kind === 'http') console.log((await probeModelServer(manifest)) ?? 'ready');
 */
export async function probeModelServer(manifest: HttpManifest): Promise<string | undefined> {
  const server = new ModelServer({ manifest, timeoutMs: 0, allowPrivateNetwork: false });
  const problem = await server.probe().finally(() => server.kill());
  return problem?.message;
}

/** Creates a database in a new folder in `folder`, and removes it. @throws {ConfigError} if SQLite fails there */
export async function trySqlite(folder: string): Promise<void> {
  const scratch = await mkdtemp(join(folder, '.gen3d-doctor-'));
  try {
    const db = openDatabase(sqlite, join(scratch, 'gen3d.sqlite'));
    await migrate(db).finally(() => db.destroy());
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** Tries all operations on the bucket of `--assets`. @throws {ConfigError} that says what is missing */
export async function tryBucket(config: Config): Promise<void> {
  const files = await edges.openFileStores(dataDirOf(config), config);
  await files.check();
}

export const migrateTo = (what: Move): Promise<MoveReport> => move(edges, what);
