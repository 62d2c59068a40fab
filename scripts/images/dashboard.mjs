// Takes screenshots of every page of the dashboard into demo-output/dashboard/, light and dark, on a desktop and on a
// phone, to look at after a change of the pages. A throwaway server makes models of the demo photos.
//
//   node scripts/images/dashboard.mjs [--quick]     --quick: with the built-in reconstructor
//
// Needs `npm run build` and Chromium, at its usual path or at that in CHROMIUM.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { launchChromium } from '../chromium.mjs';
import { main } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';

const folder = join(root, 'demo-output/dashboard');
const devices = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

await main(async (atEnd) => {
  const browser = await launchChromium();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const flags = process.argv.includes('--quick') ? ['--bundle', 'inflate'] : [];
    const server = await startThrowawayServer(atEnd, flags);
    const context = await browser.newContext({
      viewport: devices.desktop,
      deviceScaleFactor: 1,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.on(
      'console',
      (message) => message.type() === 'error' && console.error(`Error of the page: ${message.text()}`),
    );
    page.on('pageerror', (error) => console.error(`Error of the page: ${error.message}`));

    /**
     * Takes screenshots of the current page in both color schemes and sizes.
     *
     * @param {string} name
     */
    const screenshot = async (name, { fullPage = true } = {}) => {
      for (const [device, viewport] of Object.entries(devices)) {
        await page.setViewportSize(viewport);
        for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
          await page.emulateMedia({ colorScheme });
          await page.waitForTimeout(300);
          await page.screenshot({ path: join(folder, `${name}-${device}-${colorScheme}.png`), fullPage });
        }
      }
      await page.setViewportSize(devices.desktop);
    };
    /** @type {(path: string, selector: string) => Promise<void>} */
    const open = async (path, selector) => {
      await page.goto(server.url + path);
      await page.locator(selector).first().waitFor();
    };

    await open('/', 'form');
    await screenshot('sign-in');
    const { stdout } = await server.gen3d(['admin', 'sign-in-link']);
    await page.goto(stdout.trim());
    await page.locator('.drop-zone').waitFor();
    await screenshot('gallery-empty');

    const photos = demoPhotos();
    await page.setInputFiles('input[type=file]', [import.meta.filename, ...photos]);
    await page.locator('.card .badge.in_progress').first().waitFor({ timeout: 60_000 });
    await screenshot('gallery-running');
    await page.waitForFunction(
      (count) => document.querySelectorAll('.badge.succeeded, .badge.failed:not(.pending)').length > count,
      photos.length - 1,
      { timeout: 180_000 },
    );
    await screenshot('gallery');

    await page.locator('.card:has(.badge.succeeded)').nth(1).click();
    await page.locator('.model[data-state=loaded]').waitFor({ timeout: 60_000 });
    await page.waitForTimeout(1_000);
    await screenshot('job');
    await page.getByRole('button', { name: 'Wireframe' }).click();
    await screenshot('job-wireframe', { fullPage: false });

    await page.getByRole('button', { name: 'Wireframe' }).click();
    await page.getByLabel('Photo', { exact: true }).selectOption('Photo on top');
    await page.locator('.on-top').waitFor();
    await page.waitForTimeout(2_000);
    await screenshot('job-photo-on-top', { fullPage: false });

    await page.getByLabel('Photo', { exact: true }).selectOption('Photo: off');
    await page.getByText('Share', { exact: true }).click();
    await page.getByRole('button', { name: 'Create a public page' }).click();
    const publicPage = await page.getByRole('textbox', { name: 'Public page' }).inputValue();
    await screenshot('job-shared');
    await page.goto(publicPage);
    await page.waitForFunction(
      () => /** @type {{ loaded?: boolean }} */ (document.querySelector('model-viewer')).loaded,
    );
    await page.waitForTimeout(1_000);
    await screenshot('share');

    await open('/dashboard/keys', 'table');
    for (const name of [
      'Web shop',
      'Nightly import of the catalog on the old machine in the basement, until it is replaced',
    ]) {
      await page.getByLabel('Name of the new key').fill(name);
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.locator('.created-key', { hasText: name }).waitFor();
    }
    await screenshot('keys');
    await page
      .getByRole('button', { name: /^Revoke the key/ })
      .first()
      .click();
    await screenshot('keys-revoke', { fullPage: false });
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    await open('/dashboard/balance', 'h1');
    await screenshot('usage');

    await open('/dashboard/webhook', 'form');
    await screenshot('webhook-none');
    await page.getByLabel('Endpoint URL').fill('https://example.com/gen3d');
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    await page.locator('tr', { hasText: 'ping' }).getByText('Retrying').waitFor();
    await page.getByRole('button', { name: /^Details/ }).click();
    await page.locator('.delivery').waitFor();
    await screenshot('webhook');

    for (const path of ['api', 'webhooks']) {
      await open(path === 'api' ? '/docs' : `/docs/${path}`, 'h1');
      await screenshot(`docs-${path}`, { fullPage: false });
    }

    await open('/dashboard/operator', '.tile');
    await page.locator('tbody tr').first().waitFor();
    await screenshot('operator');

    await page.getByRole('button', { name: /^Account/ }).click();
    await screenshot('account-menu', { fullPage: false });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Do you run this server?').waitFor();
    await screenshot('signed-out');
    await server.close();
    console.log(`The screenshots are in ${folder}`);
  } finally {
    await browser.close();
  }
});
