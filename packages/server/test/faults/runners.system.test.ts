// The system may kill or suspend any process. Slow because runners are started again after increasing pauses.
import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Task } from '@gen3d/schema';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { writeBallBundle, writeMatteBundle } from '../../../engine/src/bundle/bundle.fixture.js';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { ballPhoto } from '../ball-photo.js';
import {
  createJob,
  databaseOf,
  finishedJob,
  imageJob,
  newInstallation,
  onPostgres,
  temporaryFolder,
  until,
} from '../kit.js';
import { running, type ServerProcess, spawnServer, spawnWorker, withFailingDevice } from './server-process.js';

const quickJob = imageJob(ballPhoto(160, 0.1));
const ballJob = imageJob(ballPhoto());

async function start(settings: Record<string, unknown>): Promise<ServerProcess> {
  return running(spawnServer({ ...(await newInstallation()), ...settings }));
}

const create = (server: ServerProcess, job = quickJob) => createJob(server.call, job);
const finished = (server: ServerProcess, id: string) => finishedJob(server.call, id);

test('a killed runner is started again after increasing pauses, which start over once a runner has made a model', {
  timeout: 180_000,
}, async () => {
  const server = await start({ workers: 1, bootstrapBalanceUsd: 10 });
  /** Kills the runner as soon as it is ready. Returns the pause before the next one, in milliseconds. */
  const kill = async () => {
    const deaths = () => server.errors.filter((line) => line.includes('runner crashed'));
    const before = deaths().length;
    process.kill(await until(async () => server.runnerPid(), 30_000), 'SIGKILL');
    return JSON.parse(await until(async () => deaths()[before])).restartMs;
  };
  expect([await kill(), await kill(), await kill(), await kill()]).toEqual([250, 500, 1_000, 2_000]);
  expect((await finished(server, await create(server))).status).toBe('SUCCEEDED');
  await until(async () => {
    const { body } = await server.call('GET', '/metrics', undefined, null);
    return String(body).includes('gen3d_inference_duration_seconds_count 1');
  });
  expect([await kill(), await kill()]).toEqual([250, 500]);
});

test('a machine that is suspended while it stores a model loses the job, and then leaves the next model alone', {
  timeout: 180_000,
}, async () => {
  const installation = await newInstallation();
  const settings = { ...installation, workers: 1, leaseSeconds: 2, bootstrapBalanceUsd: 10 };
  const server = await start({ ...settings, workers: 0 });
  const machine = () => running(spawnWorker(settings));
  const suspended = await machine();
  const { database, assets } = dataDirOf(installation);
  const db = databaseOf(database);
  const row = (id: string) => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const canWrite = (id: string) =>
    db
      .transaction()
      .execute(async (trx) => {
        if (onPostgres) await sql`set local lock_timeout = 500`.execute(trx);
        const touch = trx.updateTable('jobs').set((eb) => ({ taken_over: eb.ref('taken_over') }));
        await touch.where('id', '=', id).execute();
        return true;
      })
      .catch(() => false);

  /** Suspends the machine while it stores the job's model. Returns false if it was too fast. */
  const suspendWhileStoring = async (id: string) => {
    for (;;) {
      const names = await readdir(join(assets, '.unsettled')).catch(() => []);
      if (names.some((name) => name.startsWith(id))) break;
      if ((await row(id)).finished_at !== null) return false;
    }
    process.kill(suspended.pid!, 'SIGSTOP');
    onTestFinished(() => void process.kill(suspended.pid!, 'SIGCONT'));
    // Not inside a transaction: there, the machine would lock the database for as long as it is suspended.
    if ((await canWrite(id)) && (await row(id)).finished_at === null) return true;
    process.kill(suspended.pid!, 'SIGCONT');
    return false;
  };
  let id = '';
  await until(async () => {
    id = await create(server);
    return suspendWhileStoring(id);
  }, 60_000);
  await machine();

  const { status, model_urls } = await finished(server, id);
  expect(status).toBe('SUCCEEDED');
  const { attempt, model_key, thumbnail_key } = await row(id);
  expect(attempt).toBe(2);
  process.kill(suspended.pid!, 'SIGCONT');
  await until(async () => suspended.timesLogged('lost the lease of the job'), 60_000);
  await until(async () => (await readdir(join(assets, '.unsettled'))).every((name) => !name.startsWith(id)));
  expect((await fetch(model_urls!.glb)).status).toBe(200);
  const names = await readdir(join(assets, id), { recursive: true });
  const files = names.filter((name) => /\.(glb|jpg)$/.test(name)).map((name) => `${id}/${name}`);
  expect(files.sort()).toEqual([model_key, thumbnail_key].sort());
  const charges = db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').where('job_id', '=', id);
  expect(await charges.execute()).toHaveLength(1);
});

test('a runner that is suspended is killed when it has been silent for the time of a lease, and its job is repeated', {
  timeout: 180_000,
}, async () => {
  const installation = await newInstallation();
  const settings = { ...installation, workers: 1, leaseSeconds: 3, resolution: 128, bootstrapBalanceUsd: 10 };
  const server = await start(settings);
  const id = await create(server, ballJob);
  await until(async () => {
    const { body } = await server.call('GET', `/v1/jobs/${id}`);
    return Task.parse(body).status === 'IN_PROGRESS';
  });
  process.kill(server.runnerPid()!, 'SIGSTOP');
  await until(async () => server.logged('runner crashed').length > 0);
  expect(server.logged('runner crashed')[0]).toMatchObject({ problem: expect.stringContaining('did not respond') });
  expect(await finished(server, id)).toMatchObject({ status: 'SUCCEEDED' });
});

test('a photo that crashes the engine costs other jobs at most one attempt', { timeout: 300_000 }, async () => {
  const installation = await newInstallation();
  const folder = temporaryFolder();
  const server = await running(
    spawnServer(
      {
        ...installation,
        workers: 1,
        bundle: await writeBallBundle(folder, 'ball', { kind: 'points' }),
        matte: await writeMatteBundle(folder, 'bright'),
        device: 'dml',
      },
      withFailingDevice({ DEVICE_CRASHES: '1' }),
    ),
  );
  const db = databaseOf(installation);
  const needles = [await create(server), await create(server)];
  const crashing = await create(server, ballJob);
  needles.push(await create(server), await create(server));

  const message = expect.stringContaining('was killed, probably because the server ran out of memory');
  expect(await finished(server, crashing)).toMatchObject({ status: 'FAILED', error: { message } });
  for (const id of needles) expect(await finished(server, id)).toMatchObject({ status: 'SUCCEEDED' });
  const attempts = await db.selectFrom('jobs').select(['id', 'attempt']).orderBy('id').execute();
  const attemptsOf = new Map(attempts.map(({ id, attempt }) => [id, attempt]));
  expect(attemptsOf.get(crashing)).toBe(3);
  // Only the first crash may affect other jobs: those in the other slots, of which there is at most one per core.
  const lost = needles.map((id) => attemptsOf.get(id)! - 1).reduce((sum, count) => sum + count);
  expect(lost).toBeLessThan(availableParallelism());
  expect(server.timesLogged('runner crashed')).toBe(3);
});
