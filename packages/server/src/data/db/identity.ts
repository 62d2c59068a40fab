import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { DatabaseIdentity } from './database.js';

/** The identity of a SQLite database: a random file next to it, which `gen3d admin backup` does not copy. */
export const identityOfFile = (database: string): DatabaseIdentity => ({
  id: identityFile(database),
  name: `${database} on ${hostname()}`,
});

function identityFile(database: string): string {
  const path = join(dirname(database), 'installation.id');
  try {
    writeFileSync(path, randomBytes(16).toString('hex'), { flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
