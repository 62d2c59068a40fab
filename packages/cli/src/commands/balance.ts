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
    const balance = await client.balance.retrieve({ signal });
    if (json) return printJson(balance);
    const { balance_usd, min_balance_usd, rates } = balance;
    const isFree = Object.values(rates).every((rate) => rate === 0);
    // Without prices, a balance matters only if it is too low to create jobs.
    if (isFree && balance_usd >= min_balance_usd) return print('Models are free of charge on this server');
    print(
      table([
        ['balance', `${balance_usd} USD`],
        ['minimum for a job', `${min_balance_usd} USD`],
        ...Object.entries(rates).map(([instance, rate]) => [`per second on ${instance}`, `${rate} USD`]),
      ]),
    );
  });
}
