// Jobs that cost money, from create to the ledger, with real runners.
// @module-tag slow
import { CreateJobResponse } from '@gen3d/schema';
import { LedgerPage } from '@gen3d/schema/dashboard';
import { expect, test } from 'vitest';
import { asDataUri, ballPhoto, transparentPhoto } from './ball-photo.js';
import { type Caller, sharedServer, withImages } from './contract/kit.js';
import { browsersOn } from './dashboard-kit.js';
import { finishedJob, site } from './kit.js';

const usdPerSecond = 40;
const { server, admin, newCaller } = sharedServer({
  workers: 1,
  rates: { cpu: usdPerSecond },
  instance: 'cpu',
  allowPrivateNetwork: true,
});
const { signIn } = browsersOn(server, admin);

/** A needle, because its model takes half the time of a ball's. */
const photo = asDataUri(ballPhoto(160, 0.1));
/** A photo without an object, whose job fails. */
const blank = asDataUri(transparentPhoto());

const gallery = ({ apiKey }: Pick<Caller, 'apiKey'>, method: string, path: string, body?: unknown) =>
  server().call(method, `/gen3d/jobs${path}`, body, apiKey);
const retry = async (caller: Caller, id: string) =>
  CreateJobResponse.parse((await gallery(caller, 'POST', `/${id}/retry`)).body).job_id;
const balance = async ({ call }: Caller) =>
  ((await call('GET', '/v1/balance')).body as { balance_usd: number }).balance_usd;
const statusOf = async ({ call }: Caller, id: string) => (await finishedJob(call, id)).status;

/** The charges in the account's ledger, as the dashboard shows it. The entries must add up to the balance. */
async function accounts(caller: Caller) {
  const browser = await signIn({ api_key: caller.apiKey });
  const { entries } = LedgerPage.parse((await browser.call('GET', '/ledger')).body);
  const sum = entries.reduce((total, { amount_usd }) => total + Math.round(1e6 * amount_usd), 0);
  expect(sum).toBe(Math.round(1e6 * (await balance(caller))));
  return entries.filter(({ kind }) => kind === 'charge');
}

test('failed and canceled jobs are free, and a retry that succeeds is charged once', async () => {
  const caller = await newCaller(1_000);
  let respond = false;
  const pending = new Set<() => void>();
  const host = await site((_, response) => {
    const send = () => void (respond ? response.end(ballPhoto()) : response.writeHead(404).end());
    if (respond) send();
    else pending.add(send);
  });
  const waiting = await caller.create(withImages(`${host}/waiting.png`));
  expect((await gallery(caller, 'POST', `/${waiting}/cancel`)).status).toBe(200);
  const failed = await caller.create({ ...withImages(blank), idempotency_key: 'failing' });
  expect(await statusOf(caller, failed)).toBe('FAILED');
  const failedAgain = await retry(caller, failed);
  expect(await statusOf(caller, failedAgain)).toBe('FAILED');
  expect(await caller.create({ ...withImages(photo), idempotency_key: 'failing' })).toBe(failed);
  expect(await accounts(caller)).toEqual([]);
  expect(await balance(caller)).toBe(1_000);

  respond = true;
  for (const send of pending) send();
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => retry(caller, waiting)));
  expect(new Set(others)).toEqual(new Set([first]));
  expect(await statusOf(caller, first!)).toBe('SUCCEEDED');
  expect(await accounts(caller)).toMatchObject([{ task_id: first }]);
});

test('an account below the minimum can finish its jobs and repeat requests, but neither create nor retry', async () => {
  // A model costs more than this.
  const caller = await newCaller(1.01);
  const failed = await caller.create(withImages(blank));
  expect(await statusOf(caller, failed)).toBe('FAILED');
  const body = { ...withImages(photo), idempotency_key: 'once' };
  const id = await caller.create(body);
  expect(await statusOf(caller, id)).toBe('SUCCEEDED');
  expect(await balance(caller)).toBeLessThan(1);
  const refused = await caller.call('POST', '/v1/jobs', withImages(photo));
  expect(refused).toMatchObject({ status: 402, body: { balance_usd: await balance(caller), min_balance_usd: 1 } });
  expect(await gallery(caller, 'POST', `/${failed}/retry`)).toMatchObject({
    status: 402,
    body: { balance_usd: await balance(caller), min_balance_usd: 1 },
  });
  expect(await caller.create(body)).toBe(id);
  await admin().creditAccount(caller.accountId, 100_000);
  expect(await statusOf(caller, await retry(caller, failed))).toBe('FAILED');
  expect(await accounts(caller)).toHaveLength(1);
});

test('the keys of an account share its balance and jobs, and a job of a revoked key is finished and charged', async () => {
  const caller = await newCaller(1_000);
  const second = await admin().createKey(caller.accountId, 'second');
  const body = { ...withImages(photo), idempotency_key: 'shared' };
  const created = await server().call('POST', '/v1/jobs', body, second.api_key);
  await admin().revokeKey(second.key_id);
  const { job_id } = CreateJobResponse.parse(created.body);
  expect((await server().call('GET', `/v1/jobs/${job_id}`, undefined, second.api_key)).status).toBe(403);
  expect((await gallery({ apiKey: second.api_key }, 'POST', `/${job_id}/cancel`)).status).toBe(403);
  expect(await caller.create(body)).toBe(job_id);
  expect(await statusOf(caller, job_id)).toBe('SUCCEEDED');
  expect(await accounts(caller)).toMatchObject([{ task_id: job_id }]);
});
