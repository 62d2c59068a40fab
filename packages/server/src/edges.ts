import { parseS3Url } from './base/s3-url.js';
import { claimLocation } from './cluster/location.js';
import { isPostgresUrl } from './cluster/postgres/connections.js';
import { postgres } from './cluster/postgres/postgres.js';
import { openBucket } from './cluster/s3/file-stores.js';
import { sqlite } from './data/db/sqlite.js';
import { openFolders } from './data/installation/edges.js';
import { compatibleRoutes } from './foreign/compatible.js';
import { openModelServer } from './foreign/model-server/model-server.js';
import type { ServerEdges } from './serve.js';

/** This is the composition root. Only this module and index.ts import both the core and cluster/ or foreign/. */
export const edges: ServerEdges = {
  databaseAt: (location) => (isPostgresUrl(location) ? postgres : sqlite),
  async openFileStores(dirs, config) {
    const bucket = parseS3Url(dirs.assets);
    return bucket ? openBucket(dirs.assets, bucket, config) : openFolders(dirs);
  },
  claimLocation,
  openModelServer,
  foreignRoutes: compatibleRoutes,
};
