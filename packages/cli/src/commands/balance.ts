import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { table } from '../terminal/format.js';
import { print, printJson } from '../terminal/terminal.js';

export function addBalance(program: Command): void {
  program
    .command('balance')
    .summary('show the balance and the prices')
    .option('--json', "print the API's balance object")
    .action((_: unknown, command: Command) => balance(command.optsWithGlobals()));
}

async function balance({ json, ...options }: ServerOptions & { json?: boolean }): Promise<void> {
  await withClient(options, async (client, signal) => {
    const answer = await client.balance.retrieve({ signal });
    if (json) return printJson(answer);
    print(
      table([
        ['balance', `${answer.balance_usd} USD`],
        ['minimum to start a job', `${answer.min_balance_usd} USD`],
        ...Object.entries(answer.rates).map(([instance, rate]) => [`a second on ${instance}`, `${rate} USD`]),
      ]),
    );
  });
}
