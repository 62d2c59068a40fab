import { parseS3Url } from './base/s3-url.js';
import { claimLocation } from './cluster/location.js';
import { isPostgresUrl } from './cluster/postgres/connections.js';
import { postgres } from './cluster/postgres/postgres.js';
import { openBucket } from './cluster/s3/file-stores.js';
import { sqlite } from './data/db/sqlite.js';
import { type Edges, openFolders } from './data/installation/edges.js';

/** The part of the composition root that opens databases and files, for programs that need no more. */
export const storeEdges: Edges = {
  databaseAt: (location) => (isPostgresUrl(location) ? postgres : sqlite),
  async openFileStores(dirs, config) {
    const bucket = parseS3Url(dirs.assets);
    return bucket ? openBucket(dirs.assets, bucket, config) : openFolders(dirs);
  },
  claimLocation,
};
