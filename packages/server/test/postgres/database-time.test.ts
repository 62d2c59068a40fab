import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { currentTime } from '../../src/data/db/time.js';
import { claim, renew } from '../../src/data/jobs/claim.js';
import { nextDue } from '../../src/data/webhooks/deliveries.js';
import { recordPing } from '../../src/data/webhooks/events.js';
import { ballPhoto } from '../ball-photo.js';
import { running, spawnServer } from '../faults/server-process.js';
import {
  createJob,
  finishedJob,
  imageJob,
  newAccount,
  newInstallation,
  newJob,
  startServer,
  temporaryDatabase,
  withEndpoint,
} from '../kit.js';

const leaseMs = 30_000;
const hourMs = 60 * 60 * 1_000;

/** Shifts the clock of this process for the rest of the test. */
function shiftClock(byMs: number): void {
  const real = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + byMs);
  onTestFinished(() => clock.mockRestore());
}

describe.each([
  ['an hour ahead', hourMs],
  ['an hour behind', -hourMs],
])('a machine whose clock is %s', (_, byMs) => {
  test('does not take over a valid lease, and renews its own', async () => {
    const db = await temporaryDatabase();
    await newJob(db, await newAccount(db));
    const { lease } = (await claim(db, { runner: 'a', now: currentTime(db), leaseMs }))!;
    shiftClock(byMs);
    const held = { now: currentTime(db), leaseMs };
    expect(await claim(db, { runner: 'b', ...held })).toBeUndefined();
    expect(await renew(db, [lease], held)).toEqual(new Set([lease.token]));
    const { left } = await db
      .selectFrom('jobs')
      .select((eb) => eb('lease_expires_at', '-', currentTime(db)).as('left'))
      .executeTakeFirstOrThrow();
    expect(left).toBeGreaterThan(leaseMs - 10_000);
    expect(left).toBeLessThanOrEqual(leaseMs);
  });

  test('delivers events when they are due', async () => {
    const db = await temporaryDatabase();
    const account = await newAccount(db);
    await withEndpoint(db, account);
    shiftClock(byMs);
    const times = { now: currentTime(db), leaseMs, maxDelayMs: hourMs };
    await recordPing(db, account, 60_000, currentTime(db));
    expect(await nextDue(db, times)).toEqual([]);
    await recordPing(db, account, 0, currentTime(db));
    expect(await nextDue(db, times)).toHaveLength(1);
  });
});

test('a server whose clock is an hour behind does the jobs of another server, and their times are in order', async () => {
  const installation = await newInstallation();
  const slowClock = `data:text/javascript,const{now}=Date;Date.now=()=>now()-${hourMs}`;
  const settings = { ...installation, workers: 1, leaseSeconds: 2 };
  await running(spawnServer(settings, { NODE_OPTIONS: `--import=${slowClock}` }));
  const server = await startServer({ ...settings, workers: 0 });
  const body = imageJob(ballPhoto(160, 0.1));
  const call = (method: string, path: string, sent?: unknown) =>
    server.call(method, path, sent, 'gen3d_0123456789012345678901234567890123456789');
  const job_id = await createJob(call, body);
  const task = await finishedJob(call, job_id);
  expect(task.status).toBe('SUCCEEDED');
  expect(Date.parse(task.finished_at!)).toBeGreaterThanOrEqual(Date.parse(task.created_at));
  expect(Math.abs(Date.parse(task.finished_at!) - Date.now())).toBeLessThan(hourMs / 2);
});
