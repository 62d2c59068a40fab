import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startServer } from '../../../server/test/kit.js';
import { dropBall, newPage, openAccountMenu, seriousViolations, signedIn, useBrowser } from './kit.js';

useBrowser();

test('a member signs in with a key, and sees no operator pages', async () => {
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
  expect(await page.getByRole('link', { name: 'Operator' }).count()).toBe(0);
  for (const name of ['API keys', 'Usage', 'Webhook']) {
    await page.getByRole('link', { name }).first().click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);
  }
  await page.goto(`${server.url}/dashboard/operator`);
  await page.getByText('Page not found').waitFor();
  await openAccountMenu(page);
  expect(await seriousViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  expect(await page.getByText('Your session has ended').count()).toBe(0);
});

test('after signing out in another tab, signing in again restores the filter', async () => {
  const server = await startServer();
  const { page } = await newPage();
  const signIn = async (page: Page) => {
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
  };
  await page.goto(server.url);
  await signIn(page);
  await dropBall(page);
  await page.getByLabel('Failed').check();
  await page.getByText('No jobs in “Failed”.').waitFor();
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  await page.goBack();
  await page.getByText('No jobs in “Failed”.').waitFor();
  expect(await page.getByLabel('Failed').isChecked()).toBe(true);

  const other = await page.context().newPage();
  await other.goto(server.url);
  await openAccountMenu(other);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByLabel('API key').waitFor();
  await other.close();
  await page.getByText('Your session has ended. Sign in again.').waitFor();
  await signIn(page);
  await page.getByText('No jobs in “Failed”.').waitFor();
});

test('the operator creates a key, which works until it is revoked', async () => {
  const { server, page, errors } = await signedIn();
  await page.getByRole('link', { name: 'API keys' }).first().click();
  await page.getByLabel('Name of the new key').fill('web shop');
  await page.getByRole('button', { name: 'Create key' }).click();
  const apiKey = (await page.getByTestId('new-key').textContent())?.trim() ?? '';
  expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
  expect(await seriousViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Revoke the key web shop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.locator('tr.revoked').waitFor();
  expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(403);
  expect(errors).toEqual([]);
});
