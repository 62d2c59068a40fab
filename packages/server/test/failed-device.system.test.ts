// A GPU fails while the server runs. The device is simulated; the engine, the runner and the server are real. Slow because
// each failure is followed by the start of another runner.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeBallBundle, writeMatteBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { currentTime } from '../src/data/db/time.js';
import { liveRunners } from '../src/data/runners/registry.js';
import { ballPhoto } from './ball-photo.js';
import { running, spawnServer, withFailingDevice } from './faults/server-process.js';
import { createJob, databaseOf, finishedJob, imageJob, newInstallation, temporaryFolder, until } from './kit.js';

test('a job whose device fails is charged for the CPU, and a new process tries the device again', {
  timeout: 300_000,
}, async () => {
  const folder = temporaryFolder();
  const deviceFails = join(folder, 'device-fails');
  const installation = await newInstallation();
  const settings = {
    ...installation,
    bundle: await writeBallBundle(folder, 'ball', { kind: 'points' }),
    matte: await writeMatteBundle(folder, 'bright'),
    device: 'dml',
    resolution: 32,
    textureSize: 256,
    rates: { g6e: 1 },
    instance: 'g6e',
    bootstrapBalanceUsd: 1_000,
  };
  const server = await running(spawnServer(settings, withFailingDevice({ DEVICE_FAILS: deviceFails })));
  const db = databaseOf(installation);
  const runners = async () =>
    (await liveRunners(db, currentTime(db))).map(({ device, instance }) => ({ device, instance }));
  const makeModel = async () => {
    const body = imageJob(ballPhoto(64));
    const job_id = await createJob(server.call, body);
    const task = await finishedJob(server.call, job_id);
    expect(task.status).toBe('SUCCEEDED');
  };
  const shows = (device: string, instance: string) =>
    until(async () => {
      const [runner] = await runners();
      return runner?.device === device && runner.instance === instance;
    }, 120_000);

  await makeModel();
  await shows('dml', 'g6e');
  writeFileSync(deviceFails, '');
  await makeModel();
  // After the first failure a new process tries the device again. After the second it stays on the CPU for a while.
  await until(async () => server.timesLogged('replacing the runner') === 1, 120_000);
  await shows('dml', 'g6e');
  await makeModel();
  await shows('cpu', 'cpu');
  expect(server.timesLogged('replacing the runner')).toBe(1);

  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').orderBy('id').execute();
  expect(charges.map(({ instance }) => instance)).toEqual(['g6e', 'cpu', 'cpu']);
  for (const { instance, amount_microusd } of charges) expect(amount_microusd < 0).toBe(instance === 'g6e');
});
