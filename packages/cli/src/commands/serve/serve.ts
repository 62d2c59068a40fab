import { Gen3d, Gen3dError } from '@gen3d/sdk';
import type { Command } from 'commander';
import { healthOf } from '../../connection/client.js';
import { emptyProfile, readProfile, urlOf, withServer, writeProfile } from '../../connection/profile.js';
import { explainPort, UsageError } from '../../exit/failure.js';
import { aborted, exitSoon, interruptible } from '../../exit/interruption.js';
import { configReader, serverConfig } from '../../server-options.js';
import { say } from '../../terminal/terminal.js';
import { banner, firstStartLines } from './banner.js';

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
  // On PostgreSQL, any number of servers may share a data directory.
  if (config.database === 'sqlite') await requireUnserved(config.dataDir);
  const { isLogForPeople, serve: start } = await import('@gen3d/server');
  await interruptible(async (signal) => {
    let readyLine = '';
    const stdout = { write: (line: string) => (readyLine += line) };
    const reloadConfig = await configReader(command);
    const server = await start(config, { stdout, reloadConfig }).catch((error: unknown) => {
      throw explainPort(error, config.port, 'gen3d serve');
    });
    // Before the ready line, because scripts may run `gen3d create` as soon as it appears.
    const hasStoredKey = await storeKey(server.url, config.dataDir, server.bootstrap?.apiKey);
    const isForPeople = isLogForPeople(config);
    if (!isForPeople) for (const line of await firstStartLines(server)) say(line);
    process.stdout.write(readyLine);
    if (isForPeople) say(await banner(server, config, hasStoredKey));
    await aborted(signal);
    if (isForPeople) say('Stopping. Running jobs have 30 s to finish; another Ctrl-C exits immediately');
    await server.close();
    if (isForPeople) say('Stopped');
    exitSoon();
  });
}

/**
 * Two servers of one data directory would overwrite each other's address in the profile.
 *
 * @throws {UsageError} if the profile has a server for the data directory, and it still responds
 */
async function requireUnserved(dataDir: string): Promise<void> {
  const profile = await readProfile().catch(() => emptyProfile);
  const url = urlOf(profile, dataDir);
  if (url === undefined) return;
  const { apiKey } = profile.servers[url]!;
  if (apiKey !== undefined && (await healthOf(url)) === 200 && (await acceptsKey(url, apiKey))) {
    throw new UsageError(
      `${url} already serves the data directory ${dataDir}. Stop that server, or choose another --data-dir`,
    );
  }
}

/** Distinguishes the server from another one that uses its port after a crash. */
async function acceptsKey(baseUrl: string, apiKey: string): Promise<boolean> {
  const client = new Gen3d({ apiKey, baseUrl, maxRetries: 0, timeoutMs: 5000 });
  return client.balance.retrieve().then(
    () => true,
    // A rate limit says nothing about the key. Assumes the same server.
    (error: unknown) => error instanceof Gen3dError && error.code === 'rate_limited',
  );
}

/**
 * Stores the URL, and the key if it is known, for other commands on this machine. A failure does not prevent serving.
 *
 * @returns whether the profile has a key for the server
 */
async function storeKey(url: string, dataDir: string, newKey: string | undefined): Promise<boolean> {
  try {
    const profile = await readProfile();
    const known = Object.values(profile.servers).find((server) => server.dataDir === dataDir);
    const apiKey = newKey ?? known?.apiKey;
    await writeProfile(withServer(profile, url, { ...(apiKey !== undefined && { apiKey }), dataDir }));
    return apiKey !== undefined;
  } catch (error) {
    say(`warning: Could not write the profile: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
