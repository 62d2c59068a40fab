import { expect, test } from 'vitest';
import { expectAccessible, galleryWith, seriousViolations, signedIn, useBrowser } from './kit.js';

useBrowser();

test('the pages of usage and of the operator have figures', async () => {
  const { page, errors } = await signedIn();
  for (const [name, content] of [
    ['Usage', page.getByText('No models yet.')],
    ['Operator', page.locator('.tile').first()],
  ] as const) {
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await content.waitFor();
    expect(await seriousViolations(page)).toEqual([]);
  }
  expect(errors).toEqual([]);
});

test('the operator creates an account, and from there a key of it', async () => {
  const { server, page, errors } = await signedIn();
  await page.getByRole('link', { name: 'Operator', exact: true }).click();
  await page.getByText('Of the public test key: jobs of anyone who tries the API').waitFor();
  await page.getByLabel('New account').fill('ann');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('Account “ann” created.').waitFor();
  await expectAccessible(page);
  await page.getByLabel('New account').fill('ann');
  await page.getByRole('button', { name: 'Create account' }).click();
  const refusal = await page.getByRole('alert').filter({ hasText: 'has the name "ann"' }).elementHandle();
  await page.waitForFunction((alert) => (alert?.getBoundingClientRect().top ?? -1) > 0, refusal);
  await page.getByLabel('New account').fill('ben');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('Account “ben” created.').waitFor();
  await page.getByRole('button', { name: 'Create a key for ben' }).click();
  await page.getByRole('button', { name: 'Account: ben' }).waitFor();
  await page.getByLabel('Name of the new key').fill('laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  const apiKey = (await page.getByTestId('new-key').textContent())?.trim() ?? '';
  expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
  expect(errors).toEqual([expect.stringContaining('409')]);
});

test('the operator sees the installed bundles, and the commands that pull and choose them', async () => {
  const { page, errors } = await signedIn();
  await page.getByRole('link', { name: 'Operator', exact: true }).click();
  await page.getByText('Inflated silhouette').waitFor();
  await page.getByText('gen3d models pull').waitFor();
  await expectAccessible(page);
  expect(errors).toEqual([]);
});

test('a server with rates above 0 shows balances and prices', async () => {
  const { page } = await signedIn({ rates: { g6e: 0.002 }, instance: 'g6e' });
  await page.getByRole('link', { name: 'Balance' }).click();
  await page.getByText('per second of inference on g6e').waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await page.getByRole('link', { name: 'Operator', exact: true }).click();
  await page.getByLabel('Balance in USD').waitFor();
  expect(await seriousViolations(page)).toEqual([]);
});

test('no page scrolls sideways or overlaps its header on screens of 320 to 1440 pixels', async () => {
  const { server, page, errors } = await galleryWith(['a-name-without-a-space-that-is-too-long-for-a-phone.png']);
  const jobPage = await page.locator('.card a').getAttribute('href');
  await server.call('PUT', '/v1/webhook-endpoint', { url: `https://example.com/${'a-long-path'.repeat(20)}` });
  await server.call('POST', '/v1/webhook-endpoint/test');
  for (const path of [
    '/',
    jobPage,
    ...['keys', 'balance', 'webhook', 'operator'].map((name) => `/dashboard/${name}`),
  ]) {
    await page.goto(server.url + path);
    await page.locator('h1').waitFor();
    for (const width of [320, 390, 768, 1440]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} at ${width}`).toBeLessThanOrEqual(
        width,
      );
      // Unlike boxes in the window, these do not change when the page scrolls to a message.
      const [main, header] = await page.evaluate<[number, number]>(
        "[document.querySelector('main').offsetTop, document.querySelector('header').offsetHeight]",
      );
      expect(main, `${path} at ${width}`).toBeGreaterThanOrEqual(header);
    }
  }
  expect(errors).toEqual([]);
});

test('pages that cannot reach the server say so, and load when they can', async () => {
  const { page } = await galleryWith(['blue vase.png']);
  for (const name of ['API keys', 'Usage', 'Webhook', 'Operator']) {
    await page.context().setOffline(true);
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByText('The server cannot be reached').first().waitFor();
    expect(await page.getByText('No models yet.').count()).toBe(0);
    await page.context().setOffline(false);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByText('The server cannot be reached').waitFor({ state: 'detached' });
  }
});
