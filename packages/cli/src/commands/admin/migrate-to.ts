import type { Command } from 'commander';
import { UsageError } from '../../exit/failure.js';
import { count, duration, table } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';

export function addMigrateTo(admin: Command): void {
  admin
    .command('migrate-to')
    .summary('copy a SQLite installation to PostgreSQL')
    .description(
      'Copy the SQLite installation in the data directory to PostgreSQL: accounts, keys, ledger, jobs, webhooks and sessions. ' +
        'Stop its servers and workers first. The source is not changed. After an interruption, run the same command again.',
    )
    .argument('<postgres-url>', 'an empty database')
    .action((url: string, _options: unknown, command: Command) => migrateTo(url, command));
}

async function migrateTo(url: string, command: Command): Promise<void> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new UsageError('Pass the URL of a PostgreSQL database, such as postgres://USER@HOST/NAME');
  }
  const { loadConfig, migrateTo: move } = await import('@gen3d/server');
  const { json, database, ...flags } = command.optsWithGlobals();
  if (database !== undefined && database !== 'sqlite') {
    throw new UsageError('The source must be the SQLite database in the data directory. Omit --database');
  }
  const target = loadConfig({ ...flags, database: url });
  const startedAt = performance.now();
  const { tables, jobsWithPhotos } = await move({ dataDir: target.dataDir, target, onProgress: say });
  if (json === true) return printJson({ tables, jobs_with_photos: jobsWithPhotos });
  const rows = tables.map(({ table, source, target }) => [table, String(source), String(target)]);
  print(table([['table', 'SQLite', 'PostgreSQL'], ...rows]));
  say(`Done in ${duration(performance.now() - startedAt)}. Start all servers with this --database`);
  say(
    target.serverKey === undefined
      ? 'The database now contains the server key. Servers do not need GEN3D_SERVER_KEY'
      : 'The database does not contain the server key. Start all servers with this GEN3D_SERVER_KEY',
  );
  say(
    `The models and photos remain in ${target.assets ?? target.dataDir}. Start servers with the same ` +
      '--data-dir and --assets, or copy the files first: docs/operations/backup-and-moving.md',
  );
  if (jobsWithPhotos > 0) {
    say(`${count(jobsWithPhotos, 'unfinished job')} cannot be finished without the photos stored there`);
  }
}
