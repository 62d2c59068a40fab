import { once } from 'node:events';
import { EnginePool } from '@gen3d/engine';
import type { PhotoSide } from '@gen3d/schema/rules';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ballPixels } from '../../test/ball-photo.js';
import { newAccount, newJob, temporaryDatabase, temporaryFolder, until } from '../../test/kit.js';
import { inProcess, readyRunner, testWorker } from '../../test/worker-kit.js';
import { newUlid } from '../base/ids.js';
import { FolderAssetStore } from '../data/assets/folder-store.js';
import { FolderInputStore } from '../data/inputs/folder-store.js';
import { packPixels } from '../data/inputs/stored-image.js';
import { cancel } from '../data/jobs/lifecycle.js';
import type { ModelMaker } from './runner/runner-protocol.js';

let engine: EnginePool;
beforeAll(async () => {
  engine = await EnginePool.open({ bundle: 'inflate', matte: 'isnet', device: 'cpu', modelDirs: [], pipelines: 2 });
});
afterAll(() => engine.close());

/** A store on a file system that stops responding. */
class HangingInputStore extends FolderInputStore {
  readonly hanging = new Set<string>();
  readonly #responded = new AbortController();

  override async read(jobId: string, side: PhotoSide): Promise<Uint8Array> {
    if (this.hanging.has(jobId)) await once(this.#responded.signal, 'abort');
    return super.read(jobId, side);
  }

  respond(): void {
    this.hanging.clear();
    this.#responded.abort();
  }
}

async function setUp({ leaseMs = 30_000, fileTimeoutMs = 60_000 } = {}) {
  const db = await temporaryDatabase();
  const inputs = new HangingInputStore(temporaryFolder());
  /** The jobs in inference when each inference started, in the order of their starts. */
  const together = new Map<string, string[]>();
  const inferring = new Set<string>();
  const stages: (string | undefined)[] = [];
  // The order of events must not depend on how fast this machine is, so tests hold photos until others have started.
  const hold = { while: () => false };
  /** Which job a photo belongs to: each has its own width. */
  const photos = new Map<number, string>();
  const made = inProcess(engine);
  const maker: ModelMaker = {
    ...made,
    async generate(sent, { onProgress, ...options }) {
      const id = photos.get(sent[0]!.image.width)!;
      for (const other of inferring) together.get(other)!.push(id);
      together.set(id, [...inferring]);
      inferring.add(id);
      stages.push(worker.runningStage(id));
      try {
        await until(async () => !hold.while() || options.signal?.aborted);
        options.signal?.throwIfAborted();
        const observed: typeof onProgress = (...progress) => {
          onProgress?.(...progress);
          const stage = worker.runningStage(id);
          if (stages.at(-1) !== stage) stages.push(stage);
        };
        return await made.generate(sent, { ...options, onProgress: observed });
      } finally {
        inferring.delete(id);
      }
    },
  };
  const runner = readyRunner(maker);
  const assets = new FolderAssetStore(temporaryFolder());
  const worker = testWorker({ db, inputs, assets, fileTimeoutMs }, { runner, leaseMs });
  const account = await newAccount(db);
  const create = async (options: object | null = null) => {
    const id = newUlid();
    const image = ballPixels(160 + photos.size);
    photos.set(image.width, id);
    await inputs.replace(id, 'front', packPixels(image));
    return newJob(db, account, { id, created_at: Date.now(), options: options && JSON.stringify(options) });
  };
  const row = (id: string) => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const finished = (id: string) => until(async () => (await row(id)).finished_at !== null && row(id));
  /** Starts the worker. An aborted inference ends at its next step, and the engine is shared, so the test waits for it. */
  const start = async () => {
    onTestFinished(async () => {
      await until(async () => inferring.size === 0);
    });
    await worker.start();
  };
  return { db, inputs, assets, runner, worker, create, row, finished, start, stages, together, inferring, hold };
}

test('two jobs are in inference at the same time, and each is charged once, for the sum of its stages', async () => {
  const { db, create, finished, start, together, inferring, hold } = await setUp();
  const ids = [await create(), await create(), await create()];
  hold.while = () => inferring.size < 2;
  await start();
  await until(async () => together.size === 2);
  hold.while = () => false;
  const rows = await Promise.all(ids.map(finished));
  expect(rows.map(({ status, attempt }) => [status, attempt])).toEqual(ids.map(() => ['SUCCEEDED', 1]));
  expect(together.get(ids[1]!)).toContain(ids[0]);
  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute();
  expect(charges.map(({ job_id }) => job_id).sort()).toEqual([...ids].sort());
  for (const { inference_ms, job_id } of charges) {
    const { prepare: _, store: __, ...stages } = JSON.parse(rows.find(({ id }) => id === job_id)!.stage_ms!);
    const stagesMs = Object.values<number>(stages).reduce((sum, ms) => sum + ms);
    expect(inference_ms).toBeGreaterThan(0);
    expect(inference_ms).toBe(stagesMs);
  }
});

test('each stage of a job is known when it starts, in the order of its stage times', async () => {
  const { create, finished, start, stages } = await setUp();
  const id = await create();
  await start();
  const { stage_ms } = await finished(id);
  expect(['prepare', ...stages]).toEqual(Object.keys(JSON.parse(stage_ms!)));
});

test('a job that was attempted before is alone in its runner, and no job overtakes it', async () => {
  const { db, create, finished, start, together, inferring, hold } = await setUp();
  const ids = [await create(), await create(), await create(), await create()];
  hold.while = () => inferring.has(ids[2]!) && !together.has(ids[3]!);
  await db.updateTable('jobs').set({ attempt: 1 }).where('id', '=', ids[1]!).execute();
  await start();
  const rows = await Promise.all(ids.map(finished));
  expect(rows.map(({ status, attempt }) => [status, attempt])).toEqual(
    ids.map((_, i) => ['SUCCEEDED', i === 1 ? 2 : 1]),
  );
  expect(together.get(ids[1]!)).toEqual([]);
  expect(together.get(ids[3]!)).toEqual([ids[2]]);
  expect([...together.keys()].slice(0, 2)).toEqual(ids.slice(0, 2));
});

test('a drain hands both jobs back without counting their attempts', async () => {
  const { create, row, start, worker, inferring, hold } = await setUp();
  const ids = [await create(), await create()];
  hold.while = () => true;
  await start();
  await until(async () => inferring.size === 2);
  await worker.drain(0);
  for (const id of ids) expect(await row(id)).toMatchObject({ attempt: 0, lease_token: null, finished_at: null });
});

test('a runner that retires finishes both jobs and claims no other', async () => {
  const { create, row, finished, start, runner, inferring, hold } = await setUp();
  const ids = [await create(), await create()];
  hold.while = () => true;
  await start();
  await until(async () => inferring.size === 2);
  const later = await create();
  runner.retire();
  hold.while = () => false;
  for (const id of ids) expect(await finished(id)).toMatchObject({ status: 'SUCCEEDED' });
  await until(async () => runner.idle);
  expect(await row(later)).toMatchObject({ status: 'QUEUED', attempt: 0 });
});

test('a job whose lease is lost is left to its new holder, and the other job is finished', async () => {
  const leaseMs = 60_000;
  const { db, create, row, finished, start, inferring, hold } = await setUp({ leaseMs });
  const [lost, kept] = [await create(), await create()];
  hold.while = () => true;
  await start();
  await until(async () => inferring.size === 2);
  const takenOver = { lease_token: 'of another runner', lease_expires_at: Date.now() + leaseMs, runner: 'another' };
  await db.updateTable('jobs').set(takenOver).where('id', '=', lost).execute();
  hold.while = () => false;
  expect(await finished(kept)).toMatchObject({ status: 'SUCCEEDED' });
  await until(async () => inferring.size === 0);
  expect(await row(lost)).toMatchObject({ finished_at: null, lease_token: 'of another runner', attempt: 1 });
});

test('a job that is canceled in inference stops at once and costs nothing, and the next job starts', async () => {
  // Too long for a renewal to notice it.
  const { db, create, row, finished, start, worker, inferring, hold } = await setUp({ leaseMs: 600_000 });
  const ids = [await create(), await create(), await create()];
  hold.while = () => true;
  await start();
  await until(async () => inferring.size === 2);
  expect(await cancel(db, ids[0]!, Date.now())).toMatchObject({ outcome: 'canceled' });
  worker.checkLeases();
  await until(async () => inferring.has(ids[2]!));
  expect(inferring).not.toContain(ids[0]);
  hold.while = () => false;
  for (const id of ids.slice(1)) expect(await finished(id)).toMatchObject({ status: 'SUCCEEDED' });
  expect(await row(ids[0]!)).toMatchObject({ status: 'CANCELED', model_key: null, thumbnail_key: null });
  const charges = await db.selectFrom('ledger').select('job_id').where('kind', '=', 'charge').execute();
  expect(charges.map(({ job_id }) => job_id).sort()).toEqual(ids.slice(1).sort());
});

test('when a file system hangs, all jobs are released, and none is claimed until it responds again', async () => {
  // Enough for a busy machine to read the image of the other job.
  const { inputs, create, row, finished, start, worker, inferring, hold } = await setUp({ fileTimeoutMs: 5_000 });
  const [hanging, other] = [await create(), await create()];
  inputs.hanging.add(hanging);
  hold.while = () => true;
  await start();
  await until(async () => inferring.has(other));
  await until(async () => worker.filesHang);
  for (const id of [hanging, other]) {
    await until(async () => (await row(id)).lease_token === null);
    expect(await row(id)).toMatchObject({ attempt: 0, finished_at: null });
  }
  await until(async () => inferring.size === 0);
  hold.while = () => false;
  worker.wake();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await row(other)).toMatchObject({ attempt: 0, lease_token: null });
  inputs.respond();
  expect(await finished(other)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 });
});
