import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openAdmin } from '../src/admin.js';
import { type Config, loadConfig } from '../src/config.js';
import { ballPhoto } from './ball-photo.js';
import { makePrivateCa } from './faults/private-ca.js';
import { openReceiver } from './faults/receiver.js';
import { spawnServer } from './faults/server-process.js';
import { newInstallation, startServer } from './kit.js';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];
const executablePath = places.find((path) => path && existsSync(path));
if (!executablePath) {
  console.warn(
    'SKIPPED: the dashboard in a browser, as no Chromium was found; say where it is with CHROMIUM=/path/to/it',
  );
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const photo = { name: 'ball.png', mimeType: 'image/png', base64: ballPhoto().toString('base64') };

let browser: Browser;
beforeAll(async () => {
  // No GPU is needed: SwiftShader draws on the processor.
  const args = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--no-sandbox'];
  if (executablePath) browser = await chromium.launch({ executablePath, args });
});
afterAll(() => browser?.close());

/** A page of a new browser profile, and everything it complains of: a refusal by the Content-Security-Policy as well. */
async function newPage(colorScheme: 'light' | 'dark' = 'light'): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    colorScheme,
    reducedMotion: 'reduce',
    viewport: { width: 800, height: 600 },
  });
  onTestFinished(() => context.close());
  // Drawing without a GPU, on a machine that does other things as well, a picture may take a minute.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, complaints };
}

async function signInLink(url: string, config: Config): Promise<string> {
  const admin = await openAdmin(config);
  onTestFinished(() => admin.close());
  return url + (await admin.signInLink());
}

/** A server whose deliveries arrive: it trusts the receiver's certificate, for which it must be a process of its own. */
async function serverWithReceiver() {
  const place = await newInstallation();
  const ca = await makePrivateCa();
  const caFile = join(place.dataDir, 'ca.pem');
  writeFileSync(caFile, ca.ca);
  const settings = {
    ...place,
    bundle: 'inflate',
    device: 'cpu',
    resolution: 64,
    textureSize: 256,
    webhookPingDelay: 0,
    webhookRetryDelays: [],
    allowPrivateNetwork: true,
  };
  const server = spawnServer(settings, { NODE_EXTRA_CA_CERTS: caFile });
  onTestFinished(() => server.kill());
  const receiver = await openReceiver(ca, (response) => response.end('thank you'));
  onTestFinished(() => receiver.close());
  return { server, url: await server.ready, config: loadConfig({}, {}, { ...place }), receiver };
}

/** What axe calls serious or worse, as `rule: where`. */
async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`);
}

async function drop(page: Page): Promise<void> {
  const files = await page.evaluateHandle(`(() => {
    const { name, mimeType, base64 } = ${JSON.stringify(photo)};
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], name, { type: mimeType }));
    return transfer;
  })()`);
  await page.dispatchEvent('body', 'drop', { dataTransfer: files });
}

/** The pixels, once two pictures in a row are the same: nothing moves any more. */
async function still(locator: Locator): Promise<Buffer> {
  for (let before = await locator.screenshot(); ; ) {
    const now = await locator.screenshot();
    if (now.equals(before)) return now;
    before = now;
  }
}

describe.skipIf(!executablePath)('in a browser', () => {
  test('a person sets a webhook, drops a photo, turns its model and sees it deliver, makes and revokes a key', async () => {
    const { server, url, config, receiver } = await serverWithReceiver();
    const { page, complaints } = await newPage();
    await page.goto(await signInLink(url, config));
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    expect(page.url()).toBe(`${url}/`);
    await page.getByText('Drop a photo here').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByText('The address is set.').waitFor();
    await page.getByText('Nothing was sent yet.').waitFor();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    const ping = page.locator('tr', { hasText: 'ping' });
    await ping.getByText('Delivered').waitFor();
    await ping.getByRole('button', { name: /^Details/ }).click();
    const delivery = page.locator('.delivery');
    await delivery.getByText('thank you').waitFor();
    expect(await delivery.textContent()).toContain(receiver.received[0]?.headers['x-generate-signature']);
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'Models' }).first().click();
    await page.getByText('Drop a photo here').waitFor();
    await drop(page);
    await page.locator('.card .badge').waitFor();
    await page.locator('.card .badge.succeeded').waitFor();
    expect(await page.locator('.card').count()).toBe(1);
    expect(await seriousViolations(page)).toEqual([]);

    await page.locator('.card').click();
    await page.locator('.model[data-state=loaded]').waitFor();
    const model = page.locator('model-viewer');
    const before = await still(model);
    const box = (await model.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + box.width / 4, y, { steps: 5 });
    await page.mouse.up();
    const turned = await still(model);
    expect(turned.equals(before)).toBe(false);
    const wireframe = page.getByRole('button', { name: 'Wireframe' });
    await wireframe.click();
    expect((await still(model)).equals(turned)).toBe(false);
    await wireframe.click();
    expect(await wireframe.getAttribute('aria-pressed')).toBe('false');
    await page.getByAltText('What was sent').waitFor();
    await page.getByText('Where the time went').waitFor();
    await page.locator('tr', { hasText: 'Done 100 %' }).getByText('Delivered').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByLabel('What the new key is for').fill('web shop');
    await page.getByRole('button', { name: 'Create key' }).click();
    const apiKey = (await page.getByTestId('new-key').textContent())?.trim() ?? '';
    expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Revoke the key web shop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.locator('tr.past').waitFor();
    expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(403);

    // Nobody listens there, and no retry is made: the ping becomes a dead letter.
    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.getByLabel('Address').fill('https://127.0.0.1:9/hook');
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByText('The address is set.').waitFor();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    await page.getByLabel('Not delivered').check();
    await ping.getByText('Given up').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await ping.getByRole('button', { name: /^Replay/ }).click();
    await page.getByText('It is on its way again.').waitFor();

    for (const name of ['Balance', 'Operator']) {
      await page.getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.locator('.tile').first().waitFor();
      expect(await seriousViolations(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
    // Two cores that draw without a GPU take their time.
  }, 400_000);

  test('the operator sets a password, signs out, and signs in by it', async () => {
    const server = await startServer();
    const { page } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await page.getByRole('link', { name: 'Password' }).click();
    await page.getByLabel('New password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByText('The password is set.').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('As operator').check();
    await page.getByLabel('Operator password').fill('wrong horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This is not the operator’s password').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel('Operator password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Operator' }).waitFor();
  });

  test('a member signs in with a key, sees no operator’s page, and nothing after signing out', async () => {
    const server = await startServer();
    const { page } = await newPage('dark');
    await page.goto(server.url);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel('API key').fill('gen3d_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This API key is unknown or was revoked').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    for (const name of ['Operator', 'Password']) expect(await page.getByRole('link', { name }).count()).toBe(0);
    for (const name of ['API keys', 'Balance', 'Webhook']) {
      await page.getByRole('link', { name }).first().click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await seriousViolations(page)).toEqual([]);
    }
    for (const path of ['operator', 'password']) {
      await page.goto(`${server.url}/dashboard/${path}`);
      await page.getByText('There is no such page').waitFor();
    }
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.getByText('Your session ended').count()).toBe(0);
  });

  test('files that are no pictures are named and never sent', async () => {
    const server = await startServer();
    const { page } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await page.getByText('Drop a photo here').waitFor();
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    await page.setInputFiles('input[type=file]', [
      { name: 'nothing.jpg', mimeType: 'image/jpeg', buffer: Buffer.alloc(0) },
      { name: 'noise.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('these bytes are no picture') },
    ]);
    await page.getByText('nothing.jpg is empty').waitFor();
    await page.getByText('noise.jpg is no picture').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(sent).toEqual([]);
    expect(await seriousViolations(page)).toEqual([]);
  });

  test('whose session ended elsewhere is told so, and comes back to the jobs that were filtered', async () => {
    const server = await startServer();
    const { page } = await newPage();
    const signIn = async (on: Page) => {
      await on.getByLabel('API key').fill(server.apiKey);
      await on.getByRole('button', { name: 'Sign in' }).click();
      await on.getByRole('heading', { name: 'Models' }).waitFor();
    };
    await page.goto(server.url);
    await signIn(page);
    await page.getByLabel('Failed').check();
    await page.getByText('No job is failed.').waitFor();
    await page.getByRole('link', { name: 'Balance' }).click();
    await page.getByRole('heading', { level: 1, name: 'Balance' }).waitFor();
    await page.goBack();
    await page.getByText('No job is failed.').waitFor();
    expect(await page.getByLabel('Failed').isChecked()).toBe(true);

    const other = await page.context().newPage();
    await other.goto(server.url);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('API key').waitFor();
    await other.close();
    await page.getByText('Your session ended: sign in again.').waitFor();
    await signIn(page);
    await page.getByText('No job is failed.').waitFor();
  });
});
