// Installs the packages in release/ into a folder, with the dependencies and the contents in pnpm-lock.yaml:
//
//   npm run pack && node scripts/install-packed.mjs /opt/gen3d
//
// npm gets further arguments, such as --ignore-scripts.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Failed, main, start } from './processes.mjs';
import { npmLock } from './release/npm-lock.mjs';
import { root } from './repository.mjs';

await main(async () => {
  const [folder, ...args] = process.argv.slice(2);
  if (folder === undefined) throw new Failed('Name the folder: node scripts/install-packed.mjs /opt/gen3d');
  const release = join(root, 'release');
  const tarballs = readdirSync(release).filter((name) => name.endsWith('.tgz'));
  const { manifest, lock } = await npmLock(tarballs.map((name) => join(release, name)));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
  const ci = ['ci', '--no-audit', '--no-fund', ...args];
  const { code } = await start('npm', ci, { cwd: resolve(folder), stdio: 'inherit', shell: true }).ended;
  if (code !== 0) throw new Failed('npm ci failed');
});
