import { spawnSync } from 'node:child_process';

/** Whether util-linux' `script` is here, which runs a program on a terminal of its own. */
export const hasScript =
  process.platform === 'linux' && spawnSync('script', ['--version']).stdout?.includes('util-linux') === true;
if (!hasScript) console.warn("SKIPPED: what only a terminal sees, as util-linux' `script` is not here");

/** The arguments for `script` that run this command line on a terminal of 100 columns, its output on stdout. */
export const onTerminal = (command: readonly string[]): string[] => [
  '-qefc',
  `stty cols 100 rows 40; ${command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`,
  '/dev/null',
];
