import type { Command, CommanderError } from 'commander';
import { program } from '../../packages/cli/src/program.js';

/** Why the command line refuses these arguments, or undefined if it accepts them. */
export async function refusalOf(args: readonly string[]): Promise<CommanderError | undefined> {
  try {
    await withoutActions(program()).parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return error.exitCode === 0 ? undefined : error;
  }
}

/** Replaces all actions and output, so that only errors remain. */
function withoutActions(gen3d: Command): Command {
  for (const command of withSubcommands(gen3d)) {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
    if (command.commands.length === 0) command.action(() => {});
  }
  return gen3d;
}

const withSubcommands = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubcommands)];

// Checks the name because commander's class cannot be imported here: it is a dependency of packages/cli only.
const isRefusal = (error: unknown): error is CommanderError =>
  error instanceof Error && error.name === 'CommanderError' && 'exitCode' in error;
