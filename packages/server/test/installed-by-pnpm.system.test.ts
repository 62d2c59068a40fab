import { spawn } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));

// pnpm keeps packages in node_modules/.pnpm, and Express does not serve files of hidden folders by default.
test('the dashboard and the documentation are served from a package below a hidden folder', async () => {
  const folder = temporaryFolder();
  const installed = join(folder, '.pnpm', 'server');
  for (const part of ['package.json', 'dist', 'sample']) {
    await cp(join(packageFolder, part), join(installed, part), { recursive: true });
  }
  await symlink(join(packageFolder, 'node_modules'), join(installed, 'node_modules'));
  const program = `
    const { loadConfig, serve } = await import(${JSON.stringify(join(installed, 'dist/index.js'))});
    await serve(loadConfig({ port: 0, workers: 0, dataDir: ${JSON.stringify(join(folder, 'data'))} }, {}));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const [, found] = /listening on (\S+)/.exec(line) ?? [];
      if (found) resolve(found);
    });
    child.once('close', () => reject(new Error('the server ended')));
  });
  for (const page of ['/', '/dashboard/keys']) {
    const response = await fetch(url + page, { headers: { accept: 'text/html' } });
    expect(response.status).toBe(200);
    const [script] = /\/dashboard\/files\/[\w.-]+\.js/.exec(await response.text()) ?? [];
    expect((await fetch(url + script)).status).toBe(200);
  }
  for (const page of ['/docs', '/docs/errors']) expect((await fetch(url + page)).status).toBe(200);
});
