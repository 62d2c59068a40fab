// Draws every page of the dashboard, light and dark, on a desktop and on a phone, into demo-output/dashboard/, with a throwaway
// server that makes models of the demo photos. To be looked at after a change of the pages.
// Needs `npm run build` first, and Chromium: its place is taken from CHROMIUM, or the usual ones are tried.
// `--quick` makes the models with the built-in reconstructor.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { Failed, main } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';

const folder = join(root, 'demo-output/dashboard');
const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];
const devices = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

await main(async (atEnd) => {
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) throw new Failed('No Chromium was found. Install it, or say where it is: CHROMIUM=/path/to/it');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });

  const flags = process.argv.includes('--quick') ? ['--bundle', 'inflate'] : [];
  const server = await startThrowawayServer(atEnd, flags);
  const args = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--no-sandbox'];
  const browser = await chromium.launch({ executablePath, args });
  try {
    const context = await browser.newContext({
      viewport: devices.desktop,
      deviceScaleFactor: 1,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.on('console', (message) => message.type() === 'error' && console.error(`the page: ${message.text()}`));
    page.on('pageerror', (error) => console.error(`the page: ${error.message}`));

    /** `name` in both colours and sizes, of the page as it is now. */
    const picture = async (name, { fullPage = true } = {}) => {
      for (const [device, viewport] of Object.entries(devices)) {
        await page.setViewportSize(viewport);
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          await page.waitForTimeout(300);
          await page.screenshot({ path: join(folder, `${name}-${device}-${colorScheme}.png`), fullPage });
        }
      }
      await page.setViewportSize(devices.desktop);
    };
    const go = async (path, selector) => {
      await page.goto(server.url + path);
      await page.locator(selector).first().waitFor();
    };

    await go('/', 'form');
    await picture('sign-in');
    const { stdout } = await server.gen3d(['admin', 'sign-in-link']);
    await page.goto(stdout.trim());
    await page.locator('.drop-zone').waitFor();
    await picture('gallery-empty');

    const photos = demoPhotos();
    await page.setInputFiles('input[type=file]', [fileURLToPath(import.meta.url), ...photos]);
    await page.locator('.card .badge.in_progress').first().waitFor({ timeout: 60_000 });
    await picture('gallery-running');
    await page.waitForFunction(
      (count) => globalThis.document.querySelectorAll('.badge.succeeded, .badge.failed:not(.pending)').length > count,
      photos.length - 1,
      { timeout: 180_000 },
    );
    await picture('gallery');

    await page.locator('.card:has(.badge.succeeded)').nth(1).click();
    await page.locator('.model[data-state=loaded]').waitFor({ timeout: 60_000 });
    await page.waitForTimeout(1_000);
    await picture('job');
    await page.getByRole('button', { name: 'Wireframe' }).click();
    await picture('job-wireframe', { fullPage: false });

    await go('/dashboard/keys', 'table');
    for (const name of [
      'Web shop',
      'The nightly import of the catalogue, on the old machine in the cellar, until it is replaced',
    ]) {
      await page.getByLabel('Name of the new key').fill(name);
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.locator('.created-key', { hasText: name }).waitFor();
    }
    await picture('keys');
    await page
      .getByRole('button', { name: /^Revoke the key/ })
      .first()
      .click();
    await picture('keys-revoke', { fullPage: false });
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    await go('/dashboard/balance', '.chart');
    await picture('balance');

    await go('/dashboard/webhook', 'form');
    await picture('webhook-none');
    await page.getByLabel('URL').fill('https://example.com/gen3d');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    await page.locator('tr', { hasText: 'ping' }).getByText('Retrying').waitFor();
    await page.getByRole('button', { name: /^Details/ }).click();
    await page.locator('.delivery').waitFor();
    await picture('webhook');

    await go('/dashboard/operator', '.tile');
    await page.locator('tbody tr').first().waitFor();
    await picture('operator');

    await go('/dashboard/password', 'form');
    await picture('password');
    await page.getByLabel('New password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByText('Password set.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('As operator').check();
    await picture('sign-in-operator');
  } finally {
    await browser.close();
  }
  await server.close();
  console.log(`The pictures are in ${folder}`);
});
