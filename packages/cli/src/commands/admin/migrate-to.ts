import type { MoveReport } from '@gen3d/server';
import type { Command } from 'commander';
import { UsageError } from '../../exit/failure.js';
import { bytes, count, duration, table } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';

export function addMigrateTo(admin: Command): void {
  admin
    .command('migrate-to')
    .summary('copy a SQLite installation into a PostgreSQL')
    .description(
      'Copy the SQLite installation in the data directory into a PostgreSQL: accounts, keys, ledger, jobs, webhooks and sessions. ' +
        'Stop its servers and workers first. The source is only read. After an interruption, run it again: it goes on where it stopped.',
    )
    .argument('<postgres-url>', 'an empty database, or one that an earlier run has not finished')
    .option('--assets <dir|s3-url>', 'copy the models there too, and to a bucket the photos of waiting jobs')
    .action((url: string, options: { assets?: string }, command: Command) => migrateTo(url, options, command));
}

async function migrateTo(url: string, { assets }: { assets?: string }, command: Command): Promise<void> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new UsageError('Give the URL of a PostgreSQL database, such as postgres://USER@HOST/NAME');
  }
  const { loadConfig, migrateTo: move } = await import('@gen3d/server');
  const { assets: _, json, database, ...flags } = command.optsWithGlobals();
  if (database !== undefined && database !== 'sqlite') {
    throw new UsageError('--database names no source here: only SQLite is copied, from the data directory');
  }
  const target = loadConfig({ ...flags, database: url, assets });
  const source = loadConfig({ ...flags, database: url });
  const started = performance.now();
  const report = await move({ source, target, files: assets !== undefined, onProgress: say });
  if (json === true) return printJson(asJson(report));
  if (report.tables.length > 0) {
    const rows = report.tables.map(({ table, source, target }) => [table, String(source), String(target)]);
    print(table([['table', 'SQLite', 'PostgreSQL'], ...rows]));
  }
  sayFiles(report);
  say(`Done in ${duration(performance.now() - started)}. From now on start every server with this --database`);
  say(
    target.serverKey === undefined
      ? 'The server key is in the database now; servers need no GEN3D_SERVER_KEY'
      : 'The server key is not in the database: give every server this GEN3D_SERVER_KEY',
  );
  if (report.files) say(`Start them with --assets ${report.files.to}, too`);
  else say(`The models stay where they are; start servers with the same --data-dir, ${source.dataDir}`);
  if (report.photosLeft > 0) {
    say(`${count(report.photosLeft, 'photo')} of waiting jobs stay in ${source.dataDir}: servers need this --data-dir`);
  }
}

function sayFiles({ files }: MoveReport): void {
  if (!files) return;
  const { assets, photos, missing } = files;
  say(
    `${count(assets.copied, 'file')} of models copied (${bytes(assets.bytes)}), ${assets.there} were there; ` +
      `${count(photos.copied, 'photo')} of waiting jobs copied, ${photos.there} were there`,
  );
  if (missing.length === 0) return;
  const some = missing.slice(0, 5).join(', ') + (missing.length > 5 ? ', ...' : '');
  say(`The database names ${count(missing.length, 'file')} that were not at the source either: ${some}`);
}

const asJson = ({ found, tables, files, photosLeft }: MoveReport) => ({
  found,
  tables,
  ...(files && { files }),
  photos_left: photosLeft,
});
