import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { chooseServer, type ServerOptions, withClient } from '../connection/client.js';
import { profilePath, readProfile, withServer, writeProfile } from '../connection/profile.js';
import { Interrupted, UsageError } from '../exit/failure.js';
import { say } from '../terminal/terminal.js';

export function addLogin(program: Command): void {
  program
    .command('login')
    .summary('store an API key for a server')
    .description(
      'Check an API key and store it for this server, in a file that only you can read.\n' +
        'Prompts for the key, or reads it from stdin, to keep it out of the shell history.',
    )
    .action((_: unknown, command: Command) => login(command.optsWithGlobals()));
}

async function login(options: ServerOptions): Promise<void> {
  const profile = await readProfile();
  const baseUrl = chooseServer(options, profile);
  const input = options.apiKey ?? (process.stdin.isTTY ? await prompt(baseUrl) : await text(process.stdin));
  const apiKey = input.trim();
  if (apiKey === '') throw new UsageError('The key is empty. The operator creates keys with `gen3d admin key create`');
  await withClient({ baseUrl, apiKey }, (client, signal) => client.balance.retrieve({ signal }));
  await writeProfile(withServer(profile, baseUrl, { apiKey }));
  say(`Logged in to ${baseUrl}. The key is stored in ${profilePath()}`);
}

async function prompt(baseUrl: string): Promise<string> {
  process.stderr.write(`API key for ${baseUrl}: `);
  // Discards the echo, so that the key does not appear on the screen.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await new Promise((resolve, reject) => {
      reader.once('SIGINT', () => reject(new Interrupted()));
      // Ctrl-D closes the reader.
      reader.once('close', () => resolve(''));
      reader.question('').then(resolve, () => resolve(''));
    });
  } finally {
    reader.close();
    process.stderr.write('\n');
  }
}
