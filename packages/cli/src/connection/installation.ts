import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '@gen3d/server';
import { UsageError } from '../exit/failure.js';
import { shellWord } from '../terminal/format.js';
import { emptyProfile, readProfile } from './profile.js';

/** Whether the data directory belongs to a server: its first start creates the server key. */
const isInstallation = (dataDir: string): boolean => existsSync(join(dataDir, 'server.key'));

/** Whether the configured database may exist. PostgreSQL is not checked: opening it fails. */
export const hasInstallation = ({ database, dataDir }: Config): boolean =>
  database !== 'sqlite' || isInstallation(dataDir);

/**
 * Requires that a server has used the data directory. Opening any other would create a database whose keys and links
 * are useless.
 *
 * @throws {UsageError} which lists the data directories known on this machine
 */
export async function requireInstallation(config: Config): Promise<void> {
  if (hasInstallation(config)) return;
  const { servers } = await readProfile().catch(() => emptyProfile);
  const known = Object.values(servers).flatMap((server) => server.dataDir ?? []);
  const others = known.filter(isInstallation).map((folder) => `  --data-dir ${shellWord(folder)}`);
  const message = `No installation found in ${config.dataDir}. Start one with \`gen3d serve\`, or select another with --data-dir`;
  throw new UsageError([others.length > 0 ? `${message}:` : message, ...others].join('\n'));
}
