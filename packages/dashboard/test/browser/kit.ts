import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { launchChromium } from '../../../../scripts/chromium.mjs';
import type { Config } from '../../../server/src/config.js';
import type { JobRow } from '../../../server/src/data/db/tables.js';
import { openAdmin } from '../../../server/src/index.js';
import { ballPhoto } from '../../../server/test/ball-photo.js';
import { databaseOf, imageJob, startServer, type TestServer } from '../../../server/test/kit.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const ball = ballPhoto();
/** A file for an input. */
export const photoNamed = (name: string) => ({ name, mimeType: 'image/png', buffer: ball });

let browser: Browser;
/** Starts one browser for the tests of a file. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
}

/** A new browser profile. */
export async function newContext(colorScheme: 'light' | 'dark' = 'light'): Promise<BrowserContext> {
  const viewport = { width: 800, height: 600 };
  const context = await browser.newContext({ colorScheme, reducedMotion: 'reduce', viewport });
  // Without a GPU, on a busy machine, rendering may take a minute.
  context.setDefaultTimeout(120_000);
  return context;
}

/** A page and its errors, including violations of the Content-Security-Policy. */
export async function pageIn(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`);
  });
  return { page, errors };
}

/** A page of a new browser profile, which is closed after the test. */
export async function newPage(colorScheme?: 'light' | 'dark') {
  const context = await newContext(colorScheme);
  onTestFinished(() => context.close());
  return pageIn(context);
}

/** The URL that signs the operator in. */
export async function signInLink(url: string, config: Config): Promise<string> {
  const admin = await openAdmin(config);
  const link = await admin.signInLink().finally(() => admin.close());
  return url + link;
}

/** A server that works on no jobs, and the page of its signed-in operator. */
export async function signedIn(settings?: Parameters<typeof startServer>[0]) {
  const server = await startServer(settings);
  const { page, errors } = await newPage();
  await page.goto(await signInLink(server.url, server.config));
  await page.getByText('Drop a photo here').waitFor();
  return { server, page, errors };
}

/** Adds photos at once, of one object each. */
export async function addOneEach(page: Page, photos: readonly ReturnType<typeof photoNamed>[]): Promise<void> {
  await page.getByLabel('Photos', { exact: true }).setInputFiles([...photos]);
  if (photos.length > 1 && photos.length <= 4) await page.getByRole('button', { name: 'One each' }).click();
}

/** A server that has accepted photos, in this order, but works on none, and its gallery. */
export async function galleryWith(photoNames: readonly string[]) {
  const { server, page, errors } = await signedIn();
  await addOneEach(page, photoNames.map(photoNamed));
  const names = () => page.locator('.card strong').allTextContents();
  for (const name of photoNames) await page.locator('.card', { hasText: name }).getByText('Waiting').waitFor();
  return { server, page, errors, names };
}

/** Creates jobs in the sandbox, which succeed at once, and opens its gallery as the operator. */
export async function sandboxGallery(jobs = 1) {
  const { server, page, errors } = await signedIn();
  for (let i = 0; i < jobs; i++) await server.call('POST', '/v1/jobs', imageJob(ball), 'gen3d_test_public');
  await openAccountMenu(page);
  await page.locator('.menu select').selectOption('sandbox');
  return { server, page, errors };
}

/** Lets jobs fail: the one with this label, or all. */
export async function fail(
  server: TestServer,
  code: NonNullable<JobRow['error_code']>,
  { label, message = 'It failed.' }: { label?: string; message?: string } = {},
): Promise<void> {
  const failed = { status: 'FAILED', error_code: code, error_message: message, finished_at: Date.now() } as const;
  const update = databaseOf(server).updateTable('jobs').set(failed);
  await (label === undefined ? update : update.where('label', '=', label)).execute();
}

/** Lets the unfinished jobs succeed with the sample model. */
export async function succeed(server: TestServer): Promise<void> {
  await server.call('POST', '/v1/jobs', imageJob(ball), 'gen3d_test_public');
  const db = databaseOf(server);
  const sample = db.selectFrom('jobs').select(['model_key', 'thumbnail_key']).where('model_key', 'is not', null);
  const end = { status: 'SUCCEEDED', progress: 100, prepared: 1, finished_at: Date.now() } as const;
  await db
    .updateTable('jobs')
    .set({ ...end, ...(await sample.executeTakeFirstOrThrow()) })
    .where('model_key', 'is', null)
    .execute();
}

export const openAccountMenu = (page: Page) => page.getByRole('button', { name: /^Account/ }).click();

/** Violations that axe rates serious or critical, as `rule: selector`. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`);
}

/** Serious violations in both color schemes. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousViolations(page), colorScheme).toEqual([]);
  }
}

/** Drops photos of a ball on the page. */
export async function dropBall(page: Page, names = ['ball.png']): Promise<void> {
  const files = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob('${ball.toString('base64')}'), (char) => char.charCodeAt(0));
    for (const name of ${JSON.stringify(names)}) {
      transfer.items.add(new File([bytes], name, { type: 'image/png' }));
    }
    return transfer;
  })()`);
  await page.dispatchEvent('body', 'drop', { dataTransfer: files });
}
