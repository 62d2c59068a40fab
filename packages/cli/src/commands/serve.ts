import type { Command } from 'commander';
import { UsageError } from '../failure.js';
import { interruptible, stopped } from '../interruption.js';
import { profilePath, readProfile, withServer, writeProfile } from '../profile.js';
import { serverConfig } from '../server-options.js';
import { isWatched, paint, say } from '../terminal.js';

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
  const { serve: start } = await import('@gen3d/server');
  await interruptible(async (signal) => {
    let ready = '';
    const stdout = { write: (line: string) => (ready += line) };
    const server = await start(config, { stdout }).catch((error: unknown) => {
      throw portTaken(error, config.port) ?? error;
    });
    // The profile first: who waits for the ready line may call `gen3d create` the moment it appears.
    await remember(server.url, config.dataDir, server.bootstrap?.apiKey);
    process.stdout.write(ready);
    await stopped(signal);
    await server.close();
  });
}

function portTaken(error: unknown, port: number): UsageError | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return undefined;
  const advice = 'Choose another with --port, or --port 0 for any';
  return new UsageError(`Port ${port} is taken: is another \`gen3d serve\` running? ${advice}`, { cause: error });
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
