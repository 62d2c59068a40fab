import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../server/src/config.js';
import { makePrivateCa } from '../../../server/test/faults/private-ca.js';
import { openReceiver } from '../../../server/test/faults/receiver.js';
import { running, spawnServer } from '../../../server/test/faults/server-process.js';
import { newInstallation } from '../../../server/test/kit.js';
import { dropBall, newPage, seriousViolations, signInLink, useBrowser } from './kit.js';

useBrowser();

/** A server that trusts the receiver's certificate. That takes an environment variable, so it is a separate process. */
async function serverWithReceiver() {
  const installation = await newInstallation();
  const ca = await makePrivateCa();
  const settings = { ...installation, webhookPingDelay: 0, webhookRetryDelays: [], allowPrivateNetwork: true };
  const server = await running(spawnServer(settings, ca.trusted));
  const receiver = await openReceiver(ca, (response) => response.end('thank you'));
  onTestFinished(() => receiver.close());
  const url = await server.ready;
  return { receiver, link: await signInLink(url, loadConfig({}, {}, { ...installation })) };
}

test('the operator adds an endpoint, sees its deliveries, and sends a dead letter again', async () => {
  const { receiver, link } = await serverWithReceiver();
  const { page, errors } = await newPage();
  await page.goto(link);
  await page.getByRole('link', { name: 'Webhook' }).click();
  await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:3000/hook');
  await page.getByText('gen3d webhook listen --forward-to http://127.0.0.1:3000/hook').waitFor();
  // The server would only repeat that the URL needs https.
  expect(await page.getByRole('button', { name: 'Add endpoint' }).isDisabled()).toBe(true);
  await page.getByLabel('Endpoint URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Add endpoint' }).click();
  await page.getByText('Endpoint saved.').waitFor();
  await page.getByText('No events yet.').waitFor();
  const finalOnly = page.getByLabel('Only when a job has ended');
  await finalOnly.check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  await page.reload();
  await finalOnly.waitFor();
  expect(await finalOnly.isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Send a ping' }).click();
  const ping = page.locator('tr', { hasText: 'ping' });
  await ping.getByText('Delivered').waitFor();
  await ping.getByRole('button', { name: /^Details/ }).click();
  const delivery = page.locator('.delivery');
  await delivery.getByText('thank you').waitFor();
  expect(await delivery.textContent()).toContain(receiver.received[0]?.headers['x-generate-signature']);
  expect(await seriousViolations(page)).toEqual([]);

  // The port is closed and there are no retries, so the ping becomes a dead letter.
  await page.getByLabel('Endpoint URL').fill('https://127.0.0.1:9/hook');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Endpoint saved.').waitFor();
  await page.getByRole('button', { name: 'Send a ping' }).click();
  await page.getByLabel('Not delivered').check();
  await ping.getByText('Dead letter').waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await ping.getByRole('button', { name: /^Replay/ }).click();
  await page.getByText('The event will be sent again.').waitFor();
  expect(errors).toEqual([]);
});

test('a job’s page lists its events and their deliveries', async () => {
  const { receiver, link } = await serverWithReceiver();
  const { page, errors } = await newPage();
  await page.goto(link);
  await page.getByRole('link', { name: 'Webhook' }).click();
  await page.getByLabel('Endpoint URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Add endpoint' }).click();
  await page.getByText('Endpoint saved.').waitFor();
  await page.getByRole('link', { name: 'Models' }).first().click();
  await page.getByText('Drop a photo here').waitFor();
  await dropBall(page);
  await page.locator('.card a').click();
  await page.locator('tr', { hasText: 'Done 100 %' }).getByText('Delivered').waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  expect(errors).toEqual([]);
});
