import type { Config, Server } from '@gen3d/server';
import type { Command } from 'commander';
import { changeProfile, withServer } from '../connection/profile.js';
import { errorMessage } from '../exit/failure.js';
import { aborted, exitSoon, interruptible } from '../exit/interruption.js';
import { serverConfig } from '../server-options.js';
import { shellWord, table } from '../terminal/format.js';
import { paint, say } from '../terminal/terminal.js';
import { cpuName } from './doctor/devices.js';
import { memoryFinding } from './doctor/installation.js';

export function addServe(program: Command): void {
  program
    .command('serve')
    .summary('run the server')
    .description(
      'Run the server: API, job processing, webhooks. The first start creates an account and stores its key on this machine.\n' +
        'SIGTERM or Ctrl-C stops accepting jobs and gives running ones 30 s to finish. A second Ctrl-C exits immediately.',
    )
    .action((_: unknown, command: Command) => serve(command));
}

async function serve(command: Command): Promise<void> {
  const config = await serverConfig(command);
  const { isLogForPeople, serve: start } = await import('@gen3d/server');
  await interruptible(async (signal) => {
    let readyLine = '';
    const stdout = { write: (line: string) => (readyLine += line) };
    const server = await start(config, { stdout });
    const memory = memoryFinding();
    if (memory.level !== 'ok' && config.workers > 0) say(`warning: The memory may not suffice: ${memory.text}`);
    // The key is stored before the ready line, because scripts may run `gen3d create` as soon as it appears.
    const hasStoredKey = await storeKey(server.url, config.dataDir, server.bootstrap?.apiKey);
    const isForPeople = isLogForPeople(config);
    if (!isForPeople) for (const line of await firstStartLines(server, config)) say(line);
    process.stdout.write(readyLine);
    if (isForPeople) say(await banner(server, config, hasStoredKey));
    await aborted(signal);
    if (isForPeople) say('Stopping. Running jobs have 30 s to finish; another Ctrl-C exits immediately');
    await server.close();
    if (isForPeople) say('Stopped');
    exitSoon();
  });
}

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
    const running = await start(config);
    say('gen3d worker is ready');
    await aborted(signal);
    await running.close();
    exitSoon();
  });
}

/**
 * Stores the URL, and the key if it is known, for other commands on this machine. A failure does not prevent serving.
 *
 * @returns whether the profile has a key for the server
 */
async function storeKey(url: string, dataDir: string, newKey: string | undefined): Promise<boolean> {
  try {
    let apiKey = newKey;
    await changeProfile((profile) => {
      apiKey ??= Object.values(profile.servers).find((server) => server.dataDir === dataDir)?.apiKey;
      return withServer(profile, url, { ...(apiKey !== undefined && { apiKey }), dataDir });
    });
    return apiKey !== undefined;
  } catch (error) {
    say(`warning: Could not write the profile: ${errorMessage(error)}`);
    return false;
  }
}

/** Writes the lines below the ready line, for people: at most seven. */
async function banner(server: Server, config: Config, hasStoredKey: boolean): Promise<string> {
  const { bootstrap, device } = server;
  const rows = [
    ['Dashboard', await dashboardLink(server, config)],
    ['API key', bootstrap?.generated && isTerminal() ? `${bootstrap.apiKey} (shown only once)` : keyHint(hasStoredKey)],
    ['Device', device ? `${device.provider}, ${device.adapter ?? cpuName()}` : 'none, because of --workers 0'],
    ['Bundle', config.bundle],
    ['Data', config.dataDir],
    ...(bootstrap && hasStoredKey ? [['Next', 'in another terminal: gen3d create photo.jpg --wait']] : []),
  ];
  return table(rows.map(([label = '', ...text]) => [`  ${paint('dim', label)}`, ...text]));
}

const keyHint = (hasStoredKey: boolean) =>
  hasStoredKey
    ? 'stored on this machine, so commands here need none'
    : `not stored on this machine; \`gen3d login\` asks for it, and \`gen3d login --new-key\` creates a new one`;

/** Keys and links appear in terminals only: in a log, they would give its readers access to the server. */
const isTerminal = () => process.stderr.isTTY;

const dashboardLink = async (server: Server, config: Config) =>
  isTerminal()
    ? await server.signInLink()
    : `${server.url}/dashboard; to sign in: ${adminCommand('sign-in-link', config)}`;

/** Does not contain the URL of a PostgreSQL database, because it may contain a password. */
const adminCommand = (words: string, { database, dataDir }: Config) =>
  database === 'sqlite'
    ? `gen3d admin ${words} --data-dir ${shellWord(dataDir)}`
    : `gen3d admin ${words}, with this server's --database`;

/** Writes the lines of a first start, where programs read the log. */
async function firstStartLines({ bootstrap, signInLink }: Server, config: Config): Promise<string[]> {
  if (!bootstrap) return [];
  const key = isTerminal()
    ? `Created the account "default". Its API key, shown only once: ${bootstrap.apiKey}`
    : `Created the account "default". A log does not show its API key; to get one: ${adminCommand('key create default', config)}`;
  const link = isTerminal()
    ? `To open the dashboard as the operator, use this link once, within an hour: ${await signInLink()}`
    : `To open the dashboard as the operator: ${adminCommand('sign-in-link', config)}`;
  return [...(bootstrap.generated ? [key] : []), link];
}
