// Setup of the Vitest project `node-sqlite`: in this process and its child processes, better-sqlite3 cannot be loaded.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { sqliteLibrary } from '../src/data/db/sqlite-connection.js';

const preload = fileURLToPath(new URL('failing-addon.cjs', import.meta.url));
process.env.FAILING_ADDON = 'better_sqlite3';
process.env.NODE_OPTIONS = `--require "${preload.replaceAll('\\', '/')}"`;
createRequire(import.meta.url)(preload);

const { name } = sqliteLibrary();
if (name !== `Node ${process.versions.node}`) throw new Error(`these tests are for Node's own SQLite, not for ${name}`);
