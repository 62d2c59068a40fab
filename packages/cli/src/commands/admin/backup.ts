import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { serverConfig } from '../../server-options.js';
import { bytes } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';

export function addBackup(admin: Command): void {
  admin
    .command('backup')
    .summary('write the SQLite database into a file')
    .description(
      'Write the SQLite database, as it is at one moment, into a new file. Servers may run meanwhile. ' +
        'The server key, the models and the photos of waiting jobs are not in it.',
    )
    .argument('<file>', 'must not be there')
    .action(async (file: string, _: unknown, command: Command) => {
      const config = await serverConfig(command);
      const { backup } = await import('@gen3d/server');
      const written = await backup(config, file);
      if (command.optsWithGlobals().json === true) return printJson(written);
      print(written.file);
      const { dataDir, assets = join(dataDir, 'assets') } = config;
      say(`${bytes(written.bytes)}. Not in it, and needed with it:`);
      say(
        `  ${join(dataDir, 'server.key')}  without it no API key works. Keep a copy, elsewhere than ${dirname(written.file)}`,
      );
      say(`  ${assets}  the models: copy them after this, they never change`);
      say(`  ${join(dataDir, 'inputs')}  photos of waiting jobs`);
    });
}
