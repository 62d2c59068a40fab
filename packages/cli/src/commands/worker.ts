import type { Command } from 'commander';
import { endDespiteLeftovers, interruptible, stopped } from '../exit/interruption.js';
import { configReader, serverConfig } from '../server-options.js';
import { say } from '../terminal/terminal.js';

export function addWorker(program: Command): void {
  program
    .command('worker')
    .summary('run more runners for a server')
    .description("Run runners for a server's data directory, without an API of their own.")
    .action((_: unknown, command: Command) => worker(command));
}

async function worker(command: Command): Promise<void> {
  const config = await serverConfig(command);
  const { worker: start } = await import('@gen3d/server');
  await interruptible(async (signal) => {
    const running = await start(config, { reloadConfig: await configReader(command) });
    say('gen3d worker is ready');
    await stopped(signal);
    await running.close();
    endDespiteLeftovers();
  });
}
