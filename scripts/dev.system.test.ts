import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { launchChromium } from './chromium.mjs';
import { root } from './repository.mjs';

test('npm run dev shows the dashboard from its sources, and restarts the server after a change', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-dev-'));
  const env = { ...process.env, GEN3D_DEV_DIR: folder };
  const dev = spawn(process.execPath, [join(root, 'scripts/dev.mjs'), '--port', '0'], { env, stdio: 'pipe' });
  const ended = new Promise((resolve) => dev.once('close', resolve));
  let output = '';
  for (const stream of [dev.stdout, dev.stderr]) stream.on('data', (text) => (output += text));
  const browser = await launchChromium();
  onTestFinished(async () => {
    dev.kill('SIGTERM');
    await Promise.all([ended, browser.close()]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  const found = async (pattern: RegExp) => {
    await expect.poll(() => output).toMatch(pattern);
    return pattern.exec(output)?.[1] ?? '';
  };

  const link = await found(/Dashboard: +(\S+#\S+)/);
  const page = await browser.newPage();
  await page.goto(link);
  await page.getByRole('heading', { name: 'Models' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Models' }).waitFor();
  expect(await page.locator('script[src*="@vite/client"]').count()).toBe(1);

  const now = new Date();
  utimesSync(join(root, 'packages/convert/src/index.ts'), now, now);
  expect(await found(/Restarted with (\S+)\./)).toBe('convert');
  const health = await fetch(`${await found(/Server: +(\S+)/)}/healthz`);
  expect(health.status).toBe(200);
});
