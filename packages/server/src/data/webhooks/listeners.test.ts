import { expect, test } from 'vitest';
import { eventsOf, newAccount, newJob, temporaryDatabase, withEndpoint } from '../../../test/kit.js';
import { KeyRing } from '../../base/server-key.js';
import { ApiKeys, revokeKey } from '../accounts/api-keys.js';
import type { Db } from '../db/database.js';
import { cancel } from '../jobs/lifecycle.js';
import {
  deleteOldListeners,
  limitListenerEvents,
  listenerLifetimeMs,
  listenerSecret,
  pollEvents,
} from './listeners.js';

const one = 'listener-0000001';
const two = 'listener-0000002';

const statesOf = async (db: Db, account: string, listener: string, acknowledged: string[], now: number) => {
  const { events } = await pollEvents(db, account, listener, acknowledged, now);
  return events.map(({ job_id, status }) => [job_id, status]);
};

test('a listener gets the changes since its first poll, until it acknowledges them', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const [before, after] = [await newJob(db, account), await newJob(db, account)];
  await cancel(db, before, 0);
  expect(await pollEvents(db, account, one, [], 1)).toEqual({ events: [], since: 1 });
  await cancel(db, after, 2);
  const { events, since } = await pollEvents(db, account, one, [], 3);
  expect(since).toBe(1);
  expect(events).toMatchObject([{ event: 'task.updated', job_id: after, status: 'CANCELED', created_at: 2 }]);
  expect(await statesOf(db, account, one, [], 4)).toEqual([[after, 'CANCELED']]);
  expect(await statesOf(db, account, one, [events[0]?.event_id ?? ''], 5)).toEqual([]);
});

test('each listener gets its own copy, and the endpoint’s events do not change', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await withEndpoint(db, account);
  const job = await newJob(db, account);
  for (const listener of [one, two]) await pollEvents(db, account, listener, [], 1);
  await cancel(db, job, 2);
  const { events } = await pollEvents(db, account, one, [], 3);
  await pollEvents(
    db,
    account,
    one,
    events.map(({ event_id }) => event_id),
    4,
  );
  expect(await statesOf(db, account, two, [], 5)).toEqual([[job, 'CANCELED']]);
  expect(await eventsOf(db, account)).toEqual([['CANCELED', 0]]);
});

test('a listener gets no events of other accounts, even under the same id', async () => {
  const db = await temporaryDatabase();
  const [mine, other] = [await newAccount(db), await newAccount(db)];
  for (const account of [mine, other]) await pollEvents(db, account, one, [], 1);
  await cancel(db, await newJob(db, other), 2);
  expect(await statesOf(db, mine, one, [], 3)).toEqual([]);
  expect(await statesOf(db, other, one, [], 3)).toHaveLength(1);
});

test('a listener that stops polling gets no further events, and starts over when it polls again', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await pollEvents(db, account, one, [], 1);
  const gone = 1 + listenerLifetimeMs;
  await cancel(db, await newJob(db, account), gone);
  expect(await pollEvents(db, account, one, [], gone)).toEqual({ events: [], since: gone });
});

test('an account has at most 10 listeners at a time', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  for (let i = 0; i < 10; i++) await pollEvents(db, account, `listener-number-${i}`, [], 1);
  await expect(pollEvents(db, account, one, [], 2)).rejects.toThrow('The account has 10 listeners');
  await pollEvents(db, account, one, [], 2 + listenerLifetimeMs);
});

test('the limit of listeners holds for concurrent polls', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const polls = Array.from({ length: 14 }, (_, i) => pollEvents(db, account, `listener-number-${i}`, [], 1));
  const registered = (await Promise.allSettled(polls)).filter(({ status }) => status === 'fulfilled');
  expect(registered).toHaveLength(10);
});

test('the events of a listener that does not acknowledge them are limited to the newest', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  for (const listener of [one, two]) await pollEvents(db, account, listener, [], 1);
  const jobs: string[] = [];
  for (let i = 0; i < 5; i++) jobs.push(await newJob(db, account));
  for (const job of jobs) await cancel(db, job, 2);
  const { events } = await pollEvents(db, account, two, [], 3);
  await pollEvents(
    db,
    account,
    two,
    events.slice(2).map(({ event_id }) => event_id),
    3,
  );
  await limitListenerEvents(db, 3);
  expect((await statesOf(db, account, one, [], 4)).map(([job]) => job)).toEqual(jobs.slice(2));
  expect((await statesOf(db, account, two, [], 4)).map(([job]) => job)).toEqual(jobs.slice(0, 2));
});

test('old events and expired listeners are deleted after an hour', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await pollEvents(db, account, one, [], 1);
  await cancel(db, await newJob(db, account), 2);
  const count = async () =>
    (await db.selectFrom('listener_events').select('seq').execute()).length +
    (await db.selectFrom('webhook_listeners').select('id').execute()).length;
  await deleteOldListeners(db, 3_600_000);
  expect(await count()).toBe(2);
  await deleteOldListeners(db, 3_600_003);
  expect(await count()).toBe(0);
});

test('the secret of an account stays the same until one of its keys is revoked, and differs between accounts', async () => {
  const db = await temporaryDatabase();
  const keyRing = new KeyRing([Buffer.alloc(32, 1)]);
  const [account, other] = [await newAccount(db), await newAccount(db)];
  const secrets = () => Promise.all([account, other].map((id) => listenerSecret(db, keyRing, id)));
  const before = await secrets();
  expect(before[0]).toMatch(/^whsec_[\w-]{40}$/);
  expect(before[1]).not.toBe(before[0]);
  const { keyId } = await new ApiKeys(keyRing).create(db, account, 1);
  expect(await secrets()).toEqual(before);
  for (const now of [2, 3]) await revokeKey(db, keyId, now);
  const after = await secrets();
  expect(after).toEqual([expect.not.stringContaining(before[0]!), before[1]]);
  await revokeKey(db, keyId, 4);
  expect(await secrets()).toEqual(after);
});
