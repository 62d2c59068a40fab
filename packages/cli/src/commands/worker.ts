import type { Command } from 'commander';
import { aborted, exitSoon, interruptible } from '../exit/interruption.js';
import { configReader, serverConfig } from '../server-options.js';
import { say } from '../terminal/terminal.js';

export function addWorker(program: Command): void {
  program
    .command('worker')
    .summary('run jobs without serving the API')
    .description('Run jobs of a server, in its data directory or PostgreSQL database, without serving the API.')
    .action((_: unknown, command: Command) => worker(command));
}

async function worker(command: Command): Promise<void> {
  const config = await serverConfig(command);
  const { worker: start } = await import('@gen3d/server');
  await interruptible(async (signal) => {
    const running = await start(config, { reloadConfig: await configReader(command) });
    say('gen3d worker is ready');
    await aborted(signal);
    await running.close();
    exitSoon();
  });
}
