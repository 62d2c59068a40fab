import { Gen3d, Gen3dError } from '@gen3d/sdk';
import type { Config } from '@gen3d/server';
import type { Command } from 'commander';
import { offers } from '../bundles/offered-bundles.js';
import { healthOf } from '../connection/client.js';
import { emptyProfile, profilePath, readProfile, withServer, writeProfile } from '../connection/profile.js';
import { explainPort, UsageError } from '../exit/failure.js';
import { endDespiteLeftovers, interruptible, stopped } from '../exit/interruption.js';
import { configReader, serverConfig } from '../server-options.js';
import { shellWord } from '../terminal/format.js';
import { isWatched, paint, say } from '../terminal/terminal.js';

export function addServe(program: Command): void {
  program
    .command('serve')
    .summary('run the server')
    .description(
      'Run the server: API, runners, webhooks. The first start makes an account and keeps its key for this machine.\n' +
        'SIGTERM or Ctrl-C: no new jobs, running ones get 30 s to finish. A second Ctrl-C ends at once.',
    )
    .action((_: unknown, command: Command) => serve(command));
}

async function serve(command: Command): Promise<void> {
  const config = await serverConfig(command);
  // On PostgreSQL any number of servers may share a data directory.
  if (config.database === 'sqlite') await refuseSecond(config.dataDir);
  const { serve: start } = await import('@gen3d/server');
  await interruptible(async (signal) => {
    let ready = '';
    const stdout = { write: (line: string) => (ready += line) };
    const server = await start(config, { stdout, reloadConfig: await configReader(command) }).catch(
      (error: unknown) => {
        throw explainPort(error, config.port, 'gen3d serve');
      },
    );
    // The profile first: who waits for the ready line may call `gen3d create` the moment it appears.
    await remember(server.url, config.dataDir, server.bootstrap?.apiKey);
    process.stdout.write(ready);
    // A first start prints the link itself. Where the log is JSON, a program reads it.
    if (!server.bootstrap && showsLogToPerson(config)) say(`The dashboard, as its operator: ${howToSignIn(config)}`);
    // A catalog that cannot be read does not stop a server; `gen3d doctor` says so.
    if (showsLogToPerson(config)) for (const line of await offers(config).catch(() => [])) say(line);
    await stopped(signal);
    await server.close();
    endDespiteLeftovers();
  });
}

const showsLogToPerson = ({ logFormat }: Config) => logFormat === 'pretty' || (!logFormat && process.stderr.isTTY);

/** PostgreSQL's URL may hold a password, which belongs on no screen. */
const howToSignIn = ({ database, dataDir }: Config) =>
  database === 'sqlite'
    ? `\`gen3d admin sign-in-link --data-dir ${shellWord(dataDir)}\` prints a link`
    : "`gen3d admin sign-in-link` prints a link, given this server's --database";

/**
 * Two servers of one data directory would take turns in the profile, and the first one's address be forgotten there.
 * A profile that cannot be read, or a server that is not known there, stops nobody.
 *
 * @throws {UsageError} if the server that this machine knows for the data directory still answers
 */
async function refuseSecond(dataDir: string): Promise<void> {
  const { servers } = await readProfile().catch(() => emptyProfile);
  const known = Object.entries(servers).find(([, server]) => server.dataDir === dataDir);
  if (!known) return;
  const [url, { apiKey }] = known;
  if ((await healthOf(url)) === 200 && (await accepts(url, apiKey))) {
    throw new UsageError(
      `this data directory is served already by ${url}; stop that one, or give another --data-dir (this is ${dataDir})`,
    );
  }
}

/** After a crash, somebody else's server may have got the port: it does not know the key. */
async function accepts(baseUrl: string, apiKey: string): Promise<boolean> {
  const client = new Gen3d({ apiKey, baseUrl, maxRetries: 0, timeoutMs: 5000 });
  return client.balance.retrieve().then(
    () => true,
    // Too busy to answer is no stranger.
    (error: unknown) => error instanceof Gen3dError && error.code === 'rate_limited',
  );
}

/** Keeps key and address for the other commands on this machine. A server without a profile still serves. */
async function remember(url: string, dataDir: string, newKey: string | undefined): Promise<void> {
  try {
    const profile = await readProfile();
    const known = Object.values(profile.servers).find((server) => server.dataDir === dataDir);
    const apiKey = newKey ?? known?.apiKey;
    if (apiKey === undefined) return;
    await writeProfile(withServer(profile, url, { apiKey, dataDir }));
    if (newKey !== undefined && isWatched()) {
      say(
        paint(
          'dim',
          `The key is kept in ${profilePath()}: on this machine \`gen3d create photo.jpg --wait\` just works`,
        ),
      );
    }
  } catch (error) {
    say(`warning: the profile could not be written (${error instanceof Error ? error.message : String(error)})`);
  }
}
