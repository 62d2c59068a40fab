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
    .summary('keep the API key of a server')
    .description(
      'Try an API key and keep it, for this server, in a file only you can read.\n' +
        'The key is asked for, or read from stdin where that is no terminal, so that it need not be in the shell history.',
    )
    .action((_: unknown, command: Command) => login(command.optsWithGlobals()));
}

async function login(options: ServerOptions): Promise<void> {
  const profile = await readProfile();
  const baseUrl = chooseServer(options, profile);
  const apiKey = (options.apiKey ?? (process.stdin.isTTY ? await ask(baseUrl) : await text(process.stdin))).trim();
  if (apiKey === '') throw new UsageError('No key was given. The operator makes one with `gen3d admin key create`');
  await withClient({ baseUrl, apiKey }, (client, signal) => client.balance.retrieve({ signal }));
  await writeProfile(withServer(profile, baseUrl, { apiKey }));
  say(`Logged in to ${baseUrl}. The key is in ${profilePath()}`);
}

async function ask(baseUrl: string): Promise<string> {
  process.stderr.write(`API key for ${baseUrl}: `);
  // A terminal of its own that shows nothing: the key must not stay on the screen.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await new Promise((resolve, reject) => {
      prompt.once('SIGINT', () => reject(new Interrupted()));
      // Ctrl-D: nothing was given.
      prompt.once('close', () => resolve(''));
      prompt.question('').then(resolve, () => resolve(''));
    });
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
