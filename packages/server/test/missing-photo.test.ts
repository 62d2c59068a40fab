// The image of a waiting job is missing. Slow because the worker tries several times.
// @module-tag slow
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { worker } from '../src/index.js';
import { ballPhoto } from './ball-photo.js';
import { createJob, databaseOf, imageJob, newInstallation, silent, startServer, until } from './kit.js';

test('a job whose image is missing for a while loses no attempt, and fails if the image stays missing', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const body = imageJob(ballPhoto());
  const id = await createJob(server.call, body);
  const db = databaseOf(join(installation.dataDir, 'gen3d.sqlite'));
  const job = () => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  /** Ends the pause before the job is claimed again. */
  const change = (fields: { created_at?: number }) =>
    db
      .updateTable('jobs')
      .set({ lease_expires_at: null, ...fields })
      .where('id', '=', id)
      .where('lease_token', 'is', null)
      .execute();
  const released = () =>
    until(async () => {
      const { lease_token, lease_expires_at, attempt, status } = await job();
      return lease_token === null && lease_expires_at !== null && { attempt, status };
    }, 60_000);

  const inputs = join(installation.dataDir, 'inputs');
  renameSync(join(inputs, `${id}.front`), join(installation.dataDir, 'hidden'));
  const { close } = await worker({ ...server.config, workers: 1 }, { log: silent });
  onTestFinished(() => close({ graceMs: 0 }));
  for (let time = 0; time < 4; time++) {
    expect(await released()).toEqual({ attempt: 0, status: 'PENDING' });
    await change({});
  }
  await released();
  await change({ created_at: Date.now() - 2 * 60 * 60_000 });
  const failed = await until(async () => {
    const row = await job();
    return row.finished_at !== null && row;
  }, 60_000);
  expect(failed).toMatchObject({ status: 'FAILED', error_code: 'internal_error', attempt: 3 });
});
