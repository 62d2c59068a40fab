import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { ballPhoto, ballPixels } from '../../test/ball-photo.js';
import { imageJob, newAccount, temporaryDatabase, temporaryFolder, until, withEndpoint } from '../../test/kit.js';
import { readyRunner, testDevice, testWorker } from '../../test/worker-kit.js';
import { FolderAssetStore } from '../data/assets/folder-store.js';
import { GroupCommit } from '../data/db/group-commit.js';
import { FolderInputStore } from '../data/inputs/folder-store.js';
import { createJob } from '../data/jobs/create.js';
import type { ModelMaker } from './runner/runner-protocol.js';

/** Makes a model in five seconds, and reports its progress as often as an engine does. */
const fiveSeconds: ModelMaker = {
  async generate(_photos, { onProgress }) {
    for (let step = 1; step <= 50; step++) {
      await pause(100);
      onProgress?.(step / 50, 'field');
    }
    const stats = { bundle: 'gen3d-base', warnings: [], stageMs: { field: 5_000 } };
    const file = new Uint8Array(1);
    return { glb: file, thumbnail: file, transparentThumbnail: file, engineMs: 5_000, deviceMs: 5_000, stats };
  },
  ended: new Promise(() => {}),
  pid: process.pid,
  kill() {},
};

test('a job of five seconds takes at most six transactions, and has at most six events', async () => {
  const db = await temporaryDatabase();
  const transactions = vi.spyOn(db, 'transaction');
  const account = await newAccount(db);
  await withEndpoint(db, account);
  const inputs = new FolderInputStore(temporaryFolder());
  const commits = new GroupCommit(db);
  const runner = readyRunner(fiveSeconds);
  const worker = testWorker(
    {
      db,
      commits,
      inputs,
      assets: new FolderAssetStore(temporaryFolder()),
      children: {
        start: async () => testDevice,
        decode: async () => ballPixels(),
        nextRunner: () => (runner.free > 0 ? runner : undefined),
        stop: async () => {},
      },
    },
    { preparations: 1 },
  );
  await worker.start();
  transactions.mockClear();
  const limits = {
    maxOpenJobs: 10,
    maxJobsPerDay: 10,
    keepPhotosDays: 7,
    estimate: async () => 0,
    withoutModel: async () => 0,
  };
  const request = imageJob(ballPhoto());
  const { id } = await createJob({ db, inputs, commits, ...limits }, account, request, Date.now());
  worker.wake();
  const job = db.selectFrom('jobs').select('finished_at').where('id', '=', id);
  await until(async () => (await job.executeTakeFirstOrThrow()).finished_at !== null);
  expect(transactions.mock.calls.length).toBeGreaterThan(4);
  expect(transactions.mock.calls.length).toBeLessThanOrEqual(6);
  const events = await db.selectFrom('events').select(['status', 'progress']).orderBy('event_id').execute();
  expect(events.map(({ status, progress }) => `${status} ${progress}`)).toEqual([
    'PENDING 0',
    'PENDING 5',
    'QUEUED 25',
    'IN_PROGRESS 30',
    ...(events.length === 6 ? [expect.stringMatching(/^IN_PROGRESS [4-9]0$/)] : []),
    'SUCCEEDED 100',
  ]);
});
