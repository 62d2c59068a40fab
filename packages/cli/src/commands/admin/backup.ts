import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { serverConfig } from '../../server-options.js';
import { bytes } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';

export function addBackup(admin: Command): void {
  admin
    .command('backup')
    .summary('back up the SQLite database')
    .description(
      'Write a consistent copy of the SQLite database to a new file. Servers may be running. ' +
        'The copy does not include the server key, the models and the photos of unfinished jobs.',
    )
    .argument('<file>', 'a file that does not exist')
    .action(backUp);
}

async function backUp(file: string, _: unknown, command: Command): Promise<void> {
  const config = await serverConfig(command);
  const { backup } = await import('@gen3d/server');
  const written = await backup(config, file);
  if (command.optsWithGlobals().json === true) return printJson(written);
  print(written.file);
  const { dataDir, assets = join(dataDir, 'assets') } = config;
  const key = `${join(dataDir, 'server.key')}  the server key, without which API keys do not work`;
  say(`${bytes(written.bytes)}. A complete backup also needs:`);
  say(`  ${key}. Do not keep it in ${dirname(written.file)}`);
  say(`  ${assets}  the models. Copy them after this backup; they never change`);
  say(`  ${join(dataDir, 'inputs')}  the photos of unfinished jobs`);
}
