import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { claim } from '../jobs/claim.js';
import { announce, anyRunner, forget, liveRunners, sweepRunners } from './registry.js';

const aliveMs = 30_000;

const runner = (id: string) => ({
  id,
  host: 'gpu-1',
  pid: 4_711,
  version: '0.1.0',
  instance: 'g6e',
  bundle: 'gen3d-base',
  device: 'cuda',
  adapter: 'NVIDIA L40S',
  paused_since: null,
});

test('a runner is alive until its last heartbeat expires, and again after another one', async () => {
  const db = await temporaryDatabase();
  const idsAt = async (now: number) => (await liveRunners(db, now)).map(({ id }) => id);
  expect(await anyRunner(db, 0)).toBe(false);
  await announce(db, runner('a'), aliveMs, 1_000);
  await announce(db, runner('b'), aliveMs, 2_000);
  expect(await liveRunners(db, 2_000)).toEqual([
    { ...runner('a'), started_at: 1_000, heartbeat_at: 1_000, alive_until: 31_000, job_id: null },
    { ...runner('b'), started_at: 2_000, heartbeat_at: 2_000, alive_until: 32_000, job_id: null },
  ]);
  expect(await idsAt(30_999)).toEqual(['a', 'b']);
  expect(await idsAt(31_000)).toEqual(['b']);
  expect(await anyRunner(db, 32_000)).toBe(false);
  await announce(db, runner('a'), aliveMs, 40_000);
  expect(await liveRunners(db, 40_000)).toMatchObject([{ id: 'a', started_at: 1_000, heartbeat_at: 40_000 }]);
});

test('a runner that shuts down is removed immediately, and one that crashed is swept', async () => {
  const db = await temporaryDatabase();
  for (const id of ['a', 'b', 'c']) await announce(db, runner(id), aliveMs, 0);
  await announce(db, runner('c'), aliveMs, 10_000);
  await forget(db, 'a');
  expect((await liveRunners(db, 0)).map(({ id }) => id)).toEqual(['b', 'c']);
  const keptMs = 60_000;
  const sweptAt = async (now: number) => {
    await sweepRunners(db, now, keptMs);
    return (await db.selectFrom('runners').select('id').orderBy('id').execute()).map(({ id }) => id);
  };
  expect(await sweptAt(10_000)).toEqual(['b', 'c']);
  expect(await sweptAt(aliveMs + keptMs - 1)).toEqual(['b', 'c']);
  expect(await sweptAt(aliveMs + keptMs)).toEqual(['c']);
});

test('a runner is listed with the job in inference', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const id = await newJob(db, account);
  await announce(db, runner('a'), aliveMs, 0);
  await announce(db, runner('b'), aliveMs, 0);
  const busyWith = async () => (await liveRunners(db, 0)).map(({ job_id }) => job_id);
  expect(await busyWith()).toEqual([null, null]);
  await claim(db, { runner: 'a', now: 0, leaseMs: aliveMs });
  expect(await busyWith()).toEqual([id, null]);
});

test('a runner whose heartbeat was written while the clock was days ahead is not alive, and is swept', async () => {
  const db = await temporaryDatabase();
  await announce(db, runner('a'), aliveMs, 5 * 86_400_000);
  expect(await anyRunner(db, 1_000)).toBe(false);
  await sweepRunners(db, 1_000, 60_000);
  expect(await db.selectFrom('runners').select('id').execute()).toEqual([]);
});
