// What `npm test` does on a fresh clone: install, build, type-check, lint, run every test.
import { spawnSync } from 'node:child_process';

const steps = ['setup', 'build', 'typecheck', 'lint'].map((script) => ['npm', ['run', '--silent', script]]);
const vitest = ['npx', ['vitest', 'run', ...process.argv.slice(2)]];
for (const [command, args] of [...steps, vitest]) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
