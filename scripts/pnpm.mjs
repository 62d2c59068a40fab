// Runs the pinned pnpm through npx: a machine with Node and npm needs neither pnpm nor corepack.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { packageManager } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const onWindows = process.platform === 'win32';
// On Windows npx is a .cmd file, which Node starts only through a shell. Node does not quote arguments for it.
const args = process.argv.slice(2).map((arg) => (onWindows && /\s/.test(arg) ? `"${arg}"` : arg));
const { status, error } = spawnSync('npx', ['--yes', packageManager, ...args], {
  stdio: 'inherit',
  shell: onWindows,
  // Wireit, which builds the packages, would keep every build, without a limit.
  env: { WIREIT_CACHE: 'none', ...process.env },
});
if (error) throw error;
process.exit(status ?? 1);
