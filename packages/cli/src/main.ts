import { announceStart } from './connection/profile.js';
import { exitCode } from './exit/failure.js';
import { systemReason } from './files/system-errors.js';
import { run } from './program.js';
import { say } from './terminal/terminal.js';

// A reader that closes the pipe, as in `gen3d list | head -1`, is not an error. A full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  say(`error: Cannot write to stdout, because ${systemReason(error)}`);
  process.exit(exitCode.failed);
});

// libheif prints why it cannot decode a photo, but stdout is for results. The command's own error names the photo.
console.log = () => {};

// Losing progress and hints does not stop the command.
process.stderr.on('error', () => {});

// Before the settings of a server are loaded, which takes seconds on a slow machine.
if (process.argv[2] === 'serve') await announceStart();

// process.exit() could discard output that is still being written to a pipe.
process.exitCode = await run(process.argv.slice(2));
