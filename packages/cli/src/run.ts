import { exitCode, failureOf, Interrupted } from './exit/failure.js';
import { program } from './program.js';
import { say } from './terminal/terminal.js';

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
