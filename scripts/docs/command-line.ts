import type { Command, CommanderError } from 'commander';
import { program } from '../../packages/cli/src/program.js';

/** Why the command line refuses these arguments; undefined if it would run. */
export async function refusalOf(args: readonly string[]): Promise<CommanderError | undefined> {
  try {
    await harmless(program()).parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return error.exitCode === 0 ? undefined : error;
  }
}

/** Its commands do nothing, and its complaints are errors alone. */
function harmless(gen3d: Command): Command {
  for (const command of withSubcommands(gen3d)) {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
    if (command.commands.length === 0) command.action(() => {});
  }
  return gen3d;
}

const withSubcommands = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubcommands)];

// Not by its class: commander belongs to the command line's package, and is not to be found from here.
const isRefusal = (error: unknown): error is CommanderError =>
  error instanceof Error && error.name === 'CommanderError' && 'exitCode' in error;
