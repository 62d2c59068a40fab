import type { DatabaseOptions, Db } from '../src/data/db/database.js';
import { openDatabase as open } from '../src/data/db/open.js';
import { storeEdges } from '../src/store-edges.js';

/** Opens the SQLite or PostgreSQL database at a location. */
export const openDatabase = (location: string, options?: DatabaseOptions): Db =>
  open(storeEdges.databaseAt(location), location, options);
