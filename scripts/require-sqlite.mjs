import { Failed } from './processes.mjs';
import { requireFrom } from './repository.mjs';

/** @throws {Error} if better-sqlite3's addon is missing or was built for another platform */
const openDatabase = () => new (requireFrom('server')('better-sqlite3'))(':memory:').close();

/**
 * An installation succeeds without SQLite's addon, because newer versions of Node do not need it. Without either, the
 * server would fail only after everything had been built.
 *
 * @throws {Failed} if SQLite cannot be loaded
 */
export function requireSqlite(version = process.versions.node, open = openDatabase) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 16)) return;
  try {
    open();
  } catch {
    throw new Failed(
      "SQLite's addon could not be downloaded or compiled, which needs a C++ compiler, Python and the headers of Node. " +
        'Install them (on Debian and Ubuntu: apt install build-essential python3) and run this again, or use Node 22.16 ' +
        'or later, which has a SQLite of its own.',
    );
  }
}
