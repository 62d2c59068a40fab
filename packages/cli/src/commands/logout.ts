import type { Command } from 'commander';
import { chooseServer, type ServerOptions } from '../connection/client.js';
import { readProfile, withoutKey, writeProfile } from '../connection/profile.js';
import { say } from '../terminal/terminal.js';

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
  await writeProfile(withoutKey(profile, baseUrl));
  say(`Removed the key for ${baseUrl}. It remains valid until the operator runs \`gen3d admin key revoke\``);
}
