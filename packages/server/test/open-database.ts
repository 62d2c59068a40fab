import { edges } from '../src/composition.js';
import type { DatabaseOptions, Db } from '../src/data/db/database.js';
import { openDatabase as open } from '../src/data/db/open.js';

/** Opens the SQLite or PostgreSQL database at a location. */
export const openDatabase = (location: string, options?: DatabaseOptions): Db =>
  open(edges.databaseAt(location), location, options);
