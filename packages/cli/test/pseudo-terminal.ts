import { spawnSync } from 'node:child_process';

/** Whether `script` of util-linux is installed, which runs a program on a pseudo-terminal. */
export const hasScript =
  process.platform === 'linux' && spawnSync('script', ['--version']).stdout?.includes('util-linux') === true;
if (!hasScript) console.warn('SKIPPED: tests on a terminal. `script` of util-linux is not installed');

/** Arguments for `script`, to run a command on a terminal of 100 columns with its output on stdout. */
export const onTerminal = (command: readonly string[]): string[] => [
  '-qefc',
  `stty cols 100 rows 40; ${command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`,
  '/dev/null',
];
