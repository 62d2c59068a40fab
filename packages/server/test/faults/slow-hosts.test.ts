// Image hosts that accept a connection and never respond.
// @module-tag slow
import { expect, test } from 'vitest';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { type Caller, sharedServer, withImages } from '../contract/kit.js';
import { site, until } from '../kit.js';

const { newCaller } = sharedServer({ workers: 1, allowPrivateNetwork: true });
const quickJob = withImages(asDataUri(ballPhoto(160, 0.1)));

test('a job is not delayed by silent hosts, whether two of its account or twenty of another', async () => {
  const url = await site(() => {});
  const caller = await newCaller();
  const waiting = [await caller.create(withImages(url)), await caller.create(withImages(url))];
  const own = await caller.create(quickJob);
  await until(async () => (await caller.task(own)).status !== 'PENDING', 60_000);
  for (const id of waiting) expect(await caller.task(id)).toMatchObject({ status: 'PENDING', progress: 5 });
  expect((await end(caller, own)).status).toBe('SUCCEEDED');

  for (let count = 0; count < 18; count++) await caller.create(withImages(url));
  const fetching = async () =>
    (await caller.list('?status=PENDING&limit=100')).jobs.filter(({ progress }) => progress === 5).length;
  // Images that timed out are fetched again later, and count too.
  await until(async () => (await fetching()) >= 4);
  const other = await newCaller();
  const ofOther = await other.create(quickJob);
  expect((await end(other, ofOther)).status).toBe('SUCCEEDED');
  expect((await caller.list('?status=PENDING&limit=100')).jobs.length).toBeGreaterThan(8);
});

const end = (caller: Caller, id: string) =>
  until(async () => {
    const task = await caller.task(id);
    return task.finished_at !== null && task;
  }, 60_000);
