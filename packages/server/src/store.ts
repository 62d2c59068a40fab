import { ApiKeys } from './accounts/api-keys.js';
import { AssetStore } from './assets/store.js';
import type { Config } from './config.js';
import { type DataDir, openDataDir } from './data-dir.js';
import { type Db, migrate, openDatabase } from './db/open.js';
import { InputStore } from './inputs/store.js';

/** Everything that outlives a process, opened and up to date. */
export interface Store {
  dirs: DataDir;
  db: Db;
  keys: ApiKeys;
  inputs: InputStore;
  assets: AssetStore;
}

/** Opens the data directory and brings its database up to date. `store.db.destroy()` closes it. @throws {ConfigError} if it cannot be used */
export async function openStore(config: Config): Promise<Store> {
  const dirs = openDataDir(config);
  const db = openDatabase(dirs.database);
  try {
    await migrate(db, dirs.database);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return {
    dirs,
    db,
    keys: new ApiKeys(dirs.serverKey),
    inputs: new InputStore(dirs.inputs),
    assets: new AssetStore(dirs.assets),
  };
}
