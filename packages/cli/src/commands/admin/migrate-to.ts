import type { MoveReport } from '@gen3d/server';
import type { Command } from 'commander';
import { UsageError } from '../../exit/failure.js';
import { bytes, count, duration, table } from '../../terminal/format.js';
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
    .option('--assets <dir|s3-url>', 'also copy the models there, and to a bucket the photos that jobs still need')
    .action((url: string, options: { assets?: string }, command: Command) => migrateTo(url, options, command));
}

async function migrateTo(url: string, { assets }: { assets?: string }, command: Command): Promise<void> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new UsageError('Pass the URL of a PostgreSQL database, such as postgres://USER@HOST/NAME');
  }
  const { loadConfig, migrateTo: move } = await import('@gen3d/server');
  const { assets: _, json, database, ...flags } = command.optsWithGlobals();
  if (database !== undefined && database !== 'sqlite') {
    throw new UsageError('The source must be the SQLite database in the data directory. Omit --database');
  }
  const target = loadConfig({ ...flags, database: url, assets });
  const source = loadConfig({ ...flags, database: url });
  const startedAt = performance.now();
  const report = await move({ source, target, files: assets !== undefined, onProgress: say });
  if (json === true) return printJson(toJson(report));
  if (report.tables.length > 0) {
    const rows = report.tables.map(({ table, source, target }) => [table, String(source), String(target)]);
    print(table([['table', 'SQLite', 'PostgreSQL'], ...rows]));
  }
  sayFiles(report);
  say(`Done in ${duration(performance.now() - startedAt)}. Start all servers with this --database`);
  say(
    target.serverKey === undefined
      ? 'The database now contains the server key. Servers do not need GEN3D_SERVER_KEY'
      : 'The database does not contain the server key. Start all servers with this GEN3D_SERVER_KEY',
  );
  if (report.files) say(`Also start them with --assets ${report.files.to}`);
  else say(`The models remain in ${source.dataDir}. Start servers with the same --data-dir`);
  if (report.photosLeft > 0) {
    const photos = count(report.photosLeft, 'photo');
    say(`${photos} that jobs still need remain in ${source.dataDir}. Servers need this --data-dir`);
  }
}

function sayFiles({ files }: MoveReport): void {
  if (!files) return;
  const { assets, photos } = files;
  say(
    `Copied ${count(assets.copied, 'file')} of models (${bytes(assets.bytes)}) and ${count(photos.copied, 'photo')} of jobs; ` +
      `${assets.there + photos.there} already existed`,
  );
}

const toJson = ({ found, tables, files, photosLeft }: MoveReport) => ({
  found,
  tables,
  ...(files && { files }),
  photos_left: photosLeft,
});
