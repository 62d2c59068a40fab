import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AuthenticationError, Gen3d } from '@gen3d/sdk';
import type { Admin, Config } from '@gen3d/server';
import type { Command } from 'commander';
import { chooseServer, requireReachable, type ServerOptions, withClient } from '../connection/client.js';
import { requireInstallation } from '../connection/installation.js';
import {
  changeProfile,
  profilePath,
  readProfile,
  requireWritableProfile,
  withoutKey,
  withServer,
} from '../connection/profile.js';
import { exitCode, Failed, Interrupted, UsageError } from '../exit/failure.js';
import { serverConfig } from '../server-options.js';
import { table } from '../terminal/format.js';
import { say } from '../terminal/terminal.js';

export function addLogin(program: Command): void {
  program
    .command('login')
    .summary('store an API key for a server')
    .description(
      'Check an API key and store it for this server, in a file that only you can read.\n' +
        'Prompts for the key, or reads it from stdin, to keep it out of the shell history.\n' +
        "If you have lost your key, create a new one on the server's machine. This needs only the server's data.",
    )
    .option('--new-key', "create a key; works only on the server's machine")
    .option(
      '--account <account>',
      "the new key's account: its name, its id, or a unique prefix of the id; default: the only account",
    )
    .action((_: unknown, command: Command) => login(command));
}

interface LoginOptions extends ServerOptions {
  readonly newKey?: boolean;
  readonly account?: string;
}

async function login(command: Command): Promise<void> {
  const options: LoginOptions = command.optsWithGlobals();
  const profile = await readProfile();
  await requireWritableProfile();
  const config = await serverConfig(command);
  if (options.newKey) await requireInstallation(config);
  const { serverUrlIn } = await import('@gen3d/server');
  const local = options.newKey ? serverUrlIn(config) : undefined;
  const baseUrl = chooseServer(options, { current: local ?? profile.current });
  await requireReachable(baseUrl);
  const apiKey = options.newKey
    ? await createKey(config, baseUrl, options.account)
    : await givenKey(options.apiKey, baseUrl);
  // `createKey` has checked that the server uses this data directory.
  const dataDir = options.newKey ? config.dataDir : profile.servers[baseUrl]?.dataDir;
  const server = { apiKey, ...(dataDir !== undefined && { dataDir }) };
  await changeProfile((profile) => withServer(profile, baseUrl, server));
  say(`Logged in to ${baseUrl}. The key is stored in ${profilePath()}`);
}

/** Gets the key from the option, the terminal or stdin, and checks it. */
async function givenKey(option: string | undefined, baseUrl: string): Promise<string> {
  const input = option ?? (process.stdin.isTTY ? await prompt(`API key for ${baseUrl}: `) : await text(process.stdin));
  const apiKey = input.trim();
  if (apiKey === '') {
    const newKey = "`gen3d login --new-key` creates one on the server's machine";
    throw new UsageError(`The key is empty. ${newKey}. Elsewhere, ask the operator`);
  }
  await withClient({ baseUrl, apiKey }, (client, signal) => client.balance.retrieve({ signal })).catch(
    refusedKey(baseUrl),
  );
  return apiKey;
}

/** Replaces the SDK's message, which suggests the very command that is running, `gen3d login`. */
const refusedKey = (baseUrl: string) => (error: unknown) => {
  if (!(error instanceof AuthenticationError)) throw error;
  const problem = `${baseUrl} does not accept this API key. Check that you copied the whole key`;
  throw new Failed(exitCode.unauthorized, `${problem}, and that it is a key of this server`, { cause: error });
};

async function prompt(question: string): Promise<string> {
  process.stderr.write(question);
  // Discards the echo, so that the key does not appear on the screen.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      reader.once('SIGINT', () => reject(new Interrupted()));
      // Ctrl-D closes the reader.
      reader.once('close', () => resolve(''));
      reader.question('').then(resolve, reject);
    });
  } finally {
    reader.close();
    process.stderr.write('\n');
  }
}

export function addLogout(program: Command): void {
  program
    .command('logout')
    .summary('remove the stored API key of a server')
    .action((_: unknown, command: Command) => logout(command.optsWithGlobals()));
}

async function logout(options: ServerOptions): Promise<void> {
  const profile = await readProfile();
  const baseUrl = chooseServer(options, profile);
  if (!profile.servers[baseUrl]?.apiKey) return say(`No API key is stored for ${baseUrl}`);
  await changeProfile((profile) => withoutKey(profile, baseUrl));
  say(`Removed the key for ${baseUrl}. It remains valid until the operator runs \`gen3d admin key revoke\``);
}

/**
 * Creates an API key in the database of a server on this machine, and tests it.
 *
 * @param account the name or id of the key's account, or a unique prefix of the id. Default: the only account
 * @throws {UsageError} if it does not match exactly one account, or the server does not use this database, which must
 *   exist
 */
async function createKey(config: Config, baseUrl: string, account?: string): Promise<string> {
  const { openAdmin } = await import('@gen3d/server');
  const admin = await openAdmin(config);
  try {
    const { key_id, api_key } = await admin
      .createKey(account ?? (await onlyAccount(admin, config)), 'gen3d login')
      .catch((error: unknown) => {
        throw error instanceof Error && error.name === 'AdminError'
          ? new UsageError(error.message, { cause: error })
          : error;
      });
    try {
      await new Gen3d({ apiKey: api_key, baseUrl, maxRetries: 2 }).balance.retrieve();
    } catch (error) {
      await admin.revokeKey(key_id);
      if (!(error instanceof AuthenticationError)) throw error;
      throw new UsageError(
        `${baseUrl} does not use the data in ${config.dataDir}. Select its --data-dir or --database`,
      );
    }
    return api_key;
  } finally {
    await admin.close();
  }
}

async function onlyAccount(admin: Admin, config: Config): Promise<string> {
  const accounts = await admin.listAccounts();
  const [account, ...others] = accounts;
  if (!account) {
    const command = 'gen3d admin account create NAME';
    const remedy = `The server creates one when it starts. Wait until it listens, or create one with \`${command}\``;
    throw new UsageError(`There are no accounts in ${config.dataDir}. ${remedy}`);
  }
  if (others.length === 0) return account.account_id;
  const command = 'gen3d login --new-key --account ACCOUNT';
  const rows = accounts.map(({ account_id, name }) => [`  ${account_id}`, name]);
  throw new UsageError(`There are several accounts. Choose one by its name or id with \`${command}\`:\n${table(rows)}`);
}
