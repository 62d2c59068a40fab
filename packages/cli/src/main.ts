import { exitCode, failureOf, Interrupted } from './exit/failure.js';
import { program } from './program.js';
import { say } from './terminal/terminal.js';

// `gen3d list | head -1`: who reads no further is no error. A full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  say(`error: The output could not be written: ${error.message}`);
  process.exit(exitCode.failed);
});

// Progress and hints that nobody can read any more: the work goes on, and the result is what counts.
process.stderr.on('error', () => {});

try {
  await program().parseAsync();
} catch (error) {
  const { exitCode, message } = failureOf(error);
  if (message) say(error instanceof Interrupted ? message : `error: ${message}`);
  // Not process.exit: what was written to a pipe may still be on its way.
  process.exitCode = exitCode;
}
