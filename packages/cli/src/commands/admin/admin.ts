import { Argument, type Command } from 'commander';
import { hasInstallation, requireInstallation } from '../../connection/installation.js';
import { serverConfig } from '../../server-options.js';
import { table } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';
import { addBackup } from './backup.js';
import { addMigrateTo } from './migrate-to.js';
import { groups, type Operation, operations } from './operations.js';

export function addAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .summary('manage accounts, keys, jobs and dead letters')
    .description("Manage a server's database, whether or not the server is running. Requires no API key.")
    .option('--json', 'print JSON');
  for (const operation of operations) addOperation(admin, operation);
  addBackup(admin);
  addMigrateTo(admin);
}

function addOperation(admin: Command, operation: Operation): void {
  const [group = '', name = group] = operation.name.split(' ');
  const parent = name === group ? admin : (find(admin, group) ?? admin.command(group).summary(groups[group] ?? ''));
  const command = parent.command(name).summary(operation.summary);
  if (operation.description !== undefined) command.description(operation.description);
  for (const one of operation.takes ?? []) {
    if (one instanceof Argument) command.addArgument(one);
    else command.addOption(one);
  }
  command.action(() => administer(command, operation));
}

const find = ({ commands }: Command, name: string) => commands.find((command) => command.name() === name);

/** Runs an operation on the database of the selected data directory. */
async function administer(command: Command, operation: Operation): Promise<void> {
  const config = await serverConfig(command);
  if (!operation.isFirst) await requireInstallation(config);
  // Points out a mistyped directory, in which new accounts would be useless.
  else if (!hasInstallation(config)) {
    say(`Creating the data directory ${config.dataDir}. If the server's data is elsewhere, use --data-dir`);
  }
  const given = command.registeredArguments.map((argument, index) => [argument.name(), command.processedArgs[index]]);
  const values = { ...command.opts(), ...Object.fromEntries(given) };
  const { openAdmin } = await import('@gen3d/server');
  const admin = await openAdmin(config);
  try {
    const result = await operation.call(admin, values, config);
    if (command.optsWithGlobals().json === true) printJson(result);
    else show(operation, result, await admin.isFree());
  } finally {
    await admin.close();
  }
}

function show(operation: Operation, result: unknown, isFree: boolean): void {
  if (Array.isArray(result)) {
    // Without rows, prints only to stderr, so that stdout has one line per row.
    if (result.length === 0) say(operation.empty?.() ?? '');
    else print(table(result.map((row) => operation.columns?.(row as never, isFree) ?? [])));
    return;
  }
  if (operation.prints) print(operation.prints(result));
  for (const line of operation.says?.(result, isFree) ?? []) say(line);
}
