// Clients of other servers, whose requests `--compat` accepts, try again after a lost connection.
// @module-tag slow
import type { Task } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { asDataUri, ballPhoto } from './ball-photo.js';
import { adminOf, createJob, finishedJob, imageJob, site, startServer, type TestServer, until } from './kit.js';

/** A needle, because its model takes half the time of a ball's. */
const photo = ballPhoto(160, 0.1);
const image = asDataUri(photo);
type Settings = { headers?: Record<string, string>; signal?: AbortSignal };
const send = (server: TestServer, body: unknown, { headers, signal }: Settings = {}) =>
  fetch(`${server.url}/3d/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const submit = async (server: TestServer, body: unknown, headers: Record<string, string> = {}) => {
  const response = await send(server, body, { headers: { prefer: 'respond-async', ...headers } });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
};
const jobsOf = async (server: TestServer) => ((await server.call('GET', '/v1/jobs')).body as { jobs: Task[] }).jobs;
const balanceOf = async (server: TestServer) =>
  ((await server.call('GET', '/v1/balance')).body as { balance_usd: number }).balance_usd;

test.each([
  ['with the same Idempotency-Key', { 'idempotency-key': 'first try' }],
  ['without a key, while the job is unfinished', {}],
])('a client that tries again %s gets the model of its first request, and one charge', async (_, headers) => {
  const settings = { rates: { cpu: 0.01 }, instance: 'cpu', allowPrivateNetwork: true };
  const server = await startServer({ compat: true, workers: 1, ...settings });
  const before = await balanceOf(server);
  let sendPhoto = () => {};
  const photoMayBeSent = new Promise<void>((resolve) => {
    sendPhoto = resolve;
  });
  const url = await site(async (_request, response) => {
    await photoMayBeSent;
    response.end(photo);
  });
  const lost = new AbortController();
  const cutOff = send(server, { image: url }, { headers, signal: lost.signal }).catch(() => 'cut off');
  const [{ task_id: id }] = await until(async () => {
    const jobs = await jobsOf(server);
    return jobs.length > 0 && (jobs as [Task]);
  });
  lost.abort();
  expect(await cutOff).toBe('cut off');
  expect(await submit(server, { image: url }, headers)).toBe(id);
  sendPhoto();
  expect(await finishedJob(server.call, id)).toMatchObject({ status: 'SUCCEEDED' });
  expect(await jobsOf(server)).toHaveLength(1);
  const charged = before - (await balanceOf(server));
  expect(charged).toBeGreaterThan(0);

  const afterwards = await send(server, { image: url }, { headers });
  const isRepeat = 'idempotency-key' in headers;
  expect(((await afterwards.json()) as { id: string }).id === id).toBe(isRepeat);
  expect(await jobsOf(server)).toHaveLength(isRepeat ? 1 : 2);
  if (isRepeat) expect(before - (await balanceOf(server))).toBe(charged);
});

test('a client that tries again has its own key and photo, and shares no job with another account', async () => {
  const server = await startServer({ compat: true });
  const admin = await adminOf(server);
  const { account_id } = await admin.createAccount('other', 10);
  const other = { ...server, apiKey: (await admin.createKey(account_id)).api_key };
  const ids = await Promise.all(Array.from({ length: 5 }, () => submit(server, { image })));
  expect(new Set(ids).size).toBe(1);
  const different = asDataUri(ballPhoto(90));
  const key = { 'idempotency-key': 'mug' };
  const others = [
    await submit(other, { image }),
    await submit(server, { image: different }),
    await submit(server, { image }, key),
    await submit(other, { image }, key),
  ];
  expect(new Set([...ids, ...others]).size).toBe(5);
  // The key is that of POST /v1/jobs.
  expect(await createJob(server.call, { ...imageJob(different), idempotency_key: 'mug' })).toBe(others[2]);

  const [id] = ids as [string];
  await server.call('POST', `/gen3d/jobs/${id}/cancel`);
  const next = await submit(server, { image });
  expect([id, ...others]).not.toContain(next);
  expect(await submit(server, { image })).toBe(next);
  const tooLong = await send(server, { image }, { headers: { 'idempotency-key': 'k'.repeat(257) } });
  expect(await tooLong.json()).toMatchObject({ error: { message: expect.stringMatching(/^idempotency-key: must/) } });
});
