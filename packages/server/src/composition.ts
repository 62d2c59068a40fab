import { parseS3Url } from './base/s3-url.js';
import { claimLocation } from './cluster/location.js';
import { isPostgresUrl } from './cluster/postgres/connections.js';
import { migratePostgres } from './cluster/postgres/migrate.js';
import { postgres } from './cluster/postgres/postgres.js';
import { sharedKeys } from './cluster/postgres/shared-keys.js';
import { openBucket } from './cluster/s3/file-stores.js';
import { kindOf } from './data/db/database.js';
import { migrate } from './data/db/open.js';
import { sqlite } from './data/db/sqlite.js';
import { openFolders } from './data/installation/file-stores.js';
import { keyFile } from './data/installation/key-store.js';
import { compatibleRoutes } from './foreign/compatible.js';
import { openModelServer } from './foreign/model-server/model-server.js';
import type { ServerEdges } from './serve.js';

/** This is the composition root. Only this module and index.ts import both the core and cluster/ or foreign/. */
export const edges: ServerEdges = {
  databaseAt: (location) => (isPostgresUrl(location) ? postgres : sqlite),
  migrate: (db, location, options) => (kindOf(db).isShared ? migratePostgres : migrate)(db, location, options),
  serverKeys: (db, file, given) => (kindOf(db).isShared ? sharedKeys(db, given) : keyFile(file)),
  async openFileStores(dirs, config) {
    const bucket = parseS3Url(dirs.assets);
    return bucket ? openBucket(dirs.assets, bucket, config) : openFolders(dirs);
  },
  claimLocation,
  openModelServer,
  foreignRoutes: compatibleRoutes,
};
