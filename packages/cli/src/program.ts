import type { Setting } from '@gen3d/server';
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addAdmin } from './commands/admin/admin.js';
import { addBalance } from './commands/balance.js';
import { addCompletion } from './commands/completion.js';
import { addCreate } from './commands/create.js';
import { addDoctor } from './commands/doctor/doctor.js';
import { addDownload } from './commands/download.js';
import { addGet } from './commands/get.js';
import { addList } from './commands/list.js';
import { addLogin } from './commands/login.js';
import { addLogout } from './commands/logout.js';
import { addMcp } from './commands/mcp.js';
import { addModels } from './commands/models.js';
import { addServe } from './commands/serve.js';
import { addWatch } from './commands/watch.js';
import { addWebhook } from './commands/webhook/webhook.js';
import { addWorker } from './commands/worker.js';
import { addServerOptions } from './server-options.js';

const data = ['dataDir', 'database'] as const;
const models = ['dataDir', 'bundle', 'matte', 'device'] as const;

/** Which of the server's settings these commands take as options. */
const serverSettings: Readonly<Record<string, 'all' | readonly Setting['key'][]>> = {
  serve: 'all',
  worker: [...data, 'assets', 'workers', ...models.slice(1), 'allowPrivateNetwork', 'host', 'metricsPort', 'logFormat'],
  admin: data,
  models,
  doctor: models,
};

/** `create -dash.png`: a dash makes options of a file's name. */
const withFileHint = (text: string) =>
  text.replace(/^error: unknown option '-[^-'][^']*\.\w+'/, (refusal) => {
    return `${refusal}. If it is a file, write ./ before its name, such as ./-photo.png`;
  });

/** The whole command line. Errors are thrown, so that `main` alone decides exit codes. */
export function program(): Command {
  const gen3d = new Command('gen3d')
    .description('One photo in, one 3D model (GLB) out, on your own machine.')
    .version(packageJson.version)
    .option('--base-url <url>', 'the server to talk to (GEN3D_BASE_URL)')
    .option('--api-key <key>', 'the key to use there (GEN3D_API_KEY)')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('`gen3d --help` lists the commands, `gen3d COMMAND --help` their options.')
    .configureOutput({ outputError: (text, write) => write(withFileHint(text)) })
    .exitOverride();

  gen3d.commandsGroup('Models from photos:');
  addCreate(gen3d);
  addGet(gen3d);
  addList(gen3d);
  addDownload(gen3d);
  addWatch(gen3d);
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
  gen3d.commandsGroup('This program:');
  addCompletion(gen3d, completeProgram);
  addMcp(gen3d);

  gen3d.hook('preSubcommand', (_, command) => addSettings(command));
  return gen3d;
}

/** The server is loaded only for the commands that take its settings. */
async function addSettings(command: Command): Promise<void> {
  const settings = serverSettings[command.name()];
  if (settings) await addServerOptions(command, settings === 'all' ? undefined : settings);
}

/** The command line with every option of every command: to be described, not to be run. */
export async function completeProgram(): Promise<Command> {
  const gen3d = program();
  for (const command of gen3d.commands) await addSettings(command);
  return gen3d;
}
