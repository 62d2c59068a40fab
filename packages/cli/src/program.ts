import type { Setting } from '@gen3d/server';
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addAdmin } from './commands/admin/admin.js';
import { addBalance } from './commands/balance.js';
import { addCancel } from './commands/cancel.js';
import { addCompletion } from './commands/completion/completion.js';
import { addConvert } from './commands/convert.js';
import { addCreate } from './commands/create/create.js';
import { addDelete } from './commands/delete.js';
import { addDoctor } from './commands/doctor/doctor.js';
import { addDownload } from './commands/download.js';
import { addGet } from './commands/get.js';
import { addList } from './commands/list.js';
import { addLogin, addLogout } from './commands/login.js';
import { addMcp } from './commands/mcp.js';
import { addModels } from './commands/models/models.js';
import { addRetry } from './commands/retry.js';
import { addServe, addWorker } from './commands/serve.js';
import { addWatch } from './commands/watch/watch.js';
import { addWebhook } from './commands/webhook/webhook.js';
import { exitCode, failureOf, Interrupted } from './exit/failure.js';
import { addServerOptions } from './server-options.js';
import { helpConfiguration } from './terminal/help.js';
import { say } from './terminal/terminal.js';

const data = ['dataDir', 'database'] as const;
const bundles = ['dataDir', 'bundle', 'matte', 'device'] as const;

/** Says which server settings each command accepts as options. */
const serverSettings: Readonly<Record<string, 'all' | readonly Setting['key'][]>> = {
  serve: 'all',
  worker: [
    ...data,
    'assets',
    'workers',
    ...bundles.slice(1),
    'allowPrivateNetwork',
    'host',
    'metricsPort',
    'metricsHost',
    'logFormat',
    'logLevel',
  ],
  admin: data,
  login: data,
  models: bundles,
  doctor: bundles,
};

/** Declares the command line. It throws errors, which `run` converts to exit codes. */
export function program(): Command {
  const gen3d = new Command('gen3d')
    .description('Turn a photo of an object into a 3D model (GLB), on your own machine.')
    .version(packageJson.version)
    .option('--base-url <url>', 'URL of the server (GEN3D_BASE_URL)')
    .option('--api-key <key>', 'API key for the server (GEN3D_API_KEY)')
    .configureHelp(helpConfiguration)
    .showHelpAfterError('For help, run `gen3d --help` or `gen3d COMMAND --help`.')
    .exitOverride();

  gen3d.commandsGroup('Models:');
  addCreate(gen3d);
  addGet(gen3d);
  addList(gen3d);
  addDownload(gen3d);
  addConvert(gen3d);
  addWatch(gen3d);
  addCancel(gen3d);
  addRetry(gen3d);
  addDelete(gen3d);
  gen3d.commandsGroup('Account:');
  addBalance(gen3d);
  addWebhook(gen3d);
  addLogin(gen3d);
  addLogout(gen3d);
  gen3d.commandsGroup('Server:');
  addServe(gen3d);
  addWorker(gen3d);
  addAdmin(gen3d);
  addModels(gen3d);
  addDoctor(gen3d);
  gen3d.commandsGroup('Tools:');
  addCompletion(gen3d, completeProgram);
  addMcp(gen3d);

  gen3d.hook('preSubcommand', (_, command) => addSettings(command));
  return gen3d;
}

/** Adds the server settings of a command. Only these commands load the server. */
async function addSettings(command: Command): Promise<void> {
  const settings = serverSettings[command.name()];
  if (settings) await addServerOptions(command, settings === 'all' ? undefined : settings);
}

/** Declares the command line with all options of all commands, or of those with these names. */
export async function completeProgram(names?: readonly string[]): Promise<Command> {
  const gen3d = program();
  for (const command of gen3d.commands) if (!names || names.includes(command.name())) await addSettings(command);
  return gen3d;
}

/** Runs a command line, such as `['list', '--limit', '1']`. Resolves with its exit code, after printing any error. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return exitCode.done;
  } catch (error) {
    const { exitCode, message } = failureOf(error);
    if (message) say(error instanceof Interrupted ? message : `error: ${message}`);
    return exitCode;
  }
}
