// Two API servers and three workers use one PostgreSQL and one bucket. They are killed at random, and the database is
// restarted. Each accepted job ends once, is charged once, and its last event is delivered, unless it is deleted: then only
// its charge is left. Slow because it starts eleven processes and a PostgreSQL, and most of them several times.
// GEN3D_TEST_SEED=NUMBER repeats a run.
import { CreateJobResponse, Task } from '@gen3d/schema';
import fc from 'fast-check';
import { expect, inject, onTestFinished, test } from 'vitest';
import { readModel } from '../../../convert/src/model-parts.js';
import { S3AssetStore } from '../../src/cluster/s3/s3-asset-store.js';
import { loadConfig } from '../../src/config.js';
import { ballPhoto } from '../ball-photo.js';
import {
  expectOneEndEach,
  isWholeJpeg,
  readOutcome,
  type State,
  stepsBack,
  summaryOf,
  totalCharges,
} from '../faults/outcome.js';
import { makePrivateCa } from '../faults/private-ca.js';
import { openReceiver } from '../faults/receiver.js';
import { killPid, spawnServer, spawnWorker, type WorkerProcess } from '../faults/server-process.js';
import { freePort } from '../free-port.js';
import { adminOf, assetFiles, databaseOf, imageJob, temporaryFolder, until } from '../kit.js';
import { bucketName, keysIn, sharedS3 } from '../s3/kit.js';
import { startCluster } from './cluster.js';

const seed = inject('seed');
const [jobCount, kills, restarts] = inject('soak') ? [300, 34, 2] : [12, 3, 1];
/** Unfinished jobs: enough to keep three runners busy, few enough to finish soon after the last kill. */
const openJobs = 12;
/** Jobs of the account that is deleted while they wait, run or have ended. */
const leaverJobs = 3;
/** USD per second by instance. Each worker is a different instance. */
const rates: Record<string, number> = { one: 0.002, two: 0.003, three: 0.005 };
const balanceUsd = 100;

const pauseMs = fc.integer({ min: 0, max: 1_000 });
const plan = fc.sample(
  fc.record({
    kills: fc.array(
      fc.record({
        target: fc.constantFrom('api' as const, 'worker' as const, 'runner' as const),
        index: fc.nat({ max: 5 }),
        /** Whether to kill after the process is ready again; otherwise, it may be killed during its start. */
        whenReady: fc.boolean(),
        pauseMs,
      }),
      { minLength: kills, maxLength: kills, size: 'max' },
    ),
    /** How long the database is unavailable. */
    downtimes: fc.array(pauseMs, { minLength: restarts, maxLength: restarts }),
  }),
  { seed, numRuns: 1 },
)[0]!;

const s3 = sharedS3();
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const photoJob = imageJob(ballPhoto(160, 0.1), { left: ballPhoto(160, 0.1) });
/** Errors of a process that exits because the database is unavailable when it starts. */
const noDatabase = /Cannot use the database|PostgreSQL was lost|No connection to PostgreSQL/;

/** A process that is started again when it exits, as systemd and Kubernetes do. */
class RestartedProcess<Process extends WorkerProcess> {
  readonly #spawn: () => Process;
  readonly #startFailures: string[];
  #process: Process;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(spawn: () => Process, startFailures: string[]) {
    this.#spawn = spawn;
    this.#startFailures = startFailures;
    this.#process = spawn();
    this.#done = this.#keep();
  }

  get process(): Process {
    return this.#process;
  }

  async #keep(): Promise<void> {
    for (;;) {
      const { ended } = this.#process;
      await ended;
      const { killed, errors } = this.#process;
      if (!killed && !noDatabase.test(errors.join('\n')))
        this.#startFailures.push(errors.join('\n') || 'exited without an error');
      if (this.#isOver) return;
      if (!killed) await pause(500);
      this.#process = this.#spawn();
    }
  }

  /** Resolves when the process is ready, possibly after starts that fail because the database is unavailable. */
  async ready(): Promise<void> {
    while (!(await this.#process.ready.then(Boolean, () => false))) await pause(50);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#process.kill();
    await this.#done;
  }
}

test(`${jobCount} jobs on two API servers and three workers survive ${kills} kills and ${restarts} restarts of PostgreSQL`, {
  timeout: 300_000 + jobCount * 8_000,
}, async () => {
  console.log(`cluster test: GEN3D_TEST_SEED=${seed}`);
  const began = performance.now();
  const cluster = await startCluster();
  onTestFinished(() => cluster.remove());
  const { bucket, prefix } = s3.emptyBucket();
  const ca = await makePrivateCa();
  // Every tenth response is an error, so that some kills happen between a delivery and its retry.
  const receiver = await openReceiver(ca, (response, _delivered, count) => {
    response.writeHead(count % 10 === 0 ? 500 : 200).end();
  });
  onTestFinished(() => receiver.close());

  const shared = {
    database: cluster.url,
    assets: `s3://${bucketName}/${prefix}`,
    s3Endpoint: s3.endpoint(),
    rates,
    allowPrivateNetwork: true,
  };
  const startFailures: string[] = [];
  const startApi = async () => {
    const settings = {
      ...shared,
      dataDir: temporaryFolder(),
      port: await freePort(),
      workers: 0,
      noTestKey: true,
      webhookRetryDelays: [0.2, 0.5, 1, 2, 4],
      bootstrapBalanceUsd: balanceUsd,
    };
    return new RestartedProcess(() => spawnServer(settings, ca.trusted), startFailures);
  };
  const startWorker = (instance: string) => {
    const settings = { ...shared, workers: 1, leaseSeconds: 3, instance, dataDir: temporaryFolder() };
    return new RestartedProcess(() => spawnWorker(settings), startFailures);
  };
  const apis = [await startApi(), await startApi()];
  const workers = Object.keys(rates).map(startWorker);
  let isOver = false;
  onTestFinished(async () => {
    isOver = true; // also after a failure, so that the loops stop
    await Promise.all([...apis, ...workers].map((restarted) => restarted.end()));
  });

  let requests = 0;
  /** Repeats the request to each server in turn until there is a response. Both servers and the database may be down. */
  const request = async (method: string, path: string, body?: unknown, key?: string) => {
    for (;;) {
      try {
        const response = await apis[requests++ % apis.length]!.process.call(method, path, body, key);
        if (response.status < 500) return response;
      } catch {
        // The connection failed or was interrupted.
      }
      await pause(50);
    }
  };
  await request('PUT', '/v1/webhook-endpoint', { url: receiver.url });
  const admin = await adminOf({ config: loadConfig({}, {}, { database: cluster.url, dataDir: temporaryFolder() }) });
  const [{ account_id: stayer } = { account_id: '' }] = await admin.listAccounts();
  const { account_id: leaver } = await admin.createAccount('leaver', balanceUsd);
  const { api_key: leaverKey } = await admin.createKey(leaver);

  /** Waits until `check` returns true or the test is over. Only the test's timeout limits how long jobs may take. */
  const waitUntil = (check: () => boolean) => until(async () => isOver || check(), Number.POSITIVE_INFINITY);

  const open = new Set<string>();
  const polled = new Map<string, State[]>();
  const deleted = new Set<string>();
  const modelUrls: string[] = [];
  const create = async () => {
    for (let count = 0; count < leaverJobs; count++) {
      const body = { ...photoJob, idempotency_key: `job ${count}` };
      const { job_id } = CreateJobResponse.parse((await request('POST', '/v1/jobs', body, leaverKey)).body);
      deleted.add(job_id);
    }
    for (let count = 0; count < jobCount; count++) {
      await waitUntil(() => open.size < openJobs);
      if (isOver) return;
      const { status, body } = await request('POST', '/v1/jobs', { ...photoJob, idempotency_key: `job ${count}` });
      expect(status).toBe(202);
      const { job_id } = CreateJobResponse.parse(body);
      open.add(job_id);
      polled.set(job_id, []);
    }
  };
  /** Returns false if a runner works on the job. */
  const deleteJob = async (id: string) => {
    const { status } = await request('DELETE', `/gen3d/jobs/${id}`);
    expect([204, 409]).toContain(status);
    if (status === 409) return false;
    open.delete(id);
    deleted.add(id);
    return true;
  };
  let served = 0;
  const follow = async () => {
    while (!isOver && (polled.size < jobCount || open.size > 0)) {
      for (const id of open) {
        const task = Task.parse((await request('GET', `/v1/jobs/${id}`)).body);
        polled.get(id)!.push(task);
        // One in four jobs is deleted before it ends, and another one after that.
        const part = [...polled.keys()].indexOf(id) % 4;
        if (part === 0 && task.finished_at === null && (await deleteJob(id))) continue;
        if (task.finished_at === null) continue;
        open.delete(id);
        if (part <= 1) {
          expect(await deleteJob(id)).toBe(true);
          if (task.model_urls) modelUrls.push(task.model_urls.glb);
          continue;
        }
        if (task.status !== 'SUCCEEDED') continue;
        const [model, thumbnail] = await Promise.all([fetch(task.model_urls!.glb), fetch(task.thumbnail_url!)]);
        await readModel(Buffer.from(await model.arrayBuffer()));
        expect(isWholeJpeg(Buffer.from(await thumbnail.arrayBuffer()))).toBe(true);
        served++;
      }
      await pause(500);
    }
  };
  /** Spreads `count` faults over the jobs, so that a slow machine has as many as a fast one. */
  const faultIsDue = (index: number, count: number) =>
    waitUntil(() => polled.size >= ((index + 1) * jobCount) / (count + 1));

  const killCounts = { api: 0, worker: 0, runner: 0 };
  const kill = async () => {
    for (const [index, fault] of plan.kills.entries()) {
      await faultIsDue(index, kills);
      await pause(fault.pauseMs);
      if (isOver) return;
      const among: RestartedProcess<WorkerProcess>[] = fault.target === 'api' ? apis : workers;
      const restarted = among[fault.index % among.length]!;
      if (fault.whenReady) await restarted.ready();
      if (fault.target === 'runner') await waitUntil(() => killPid(restarted.process.runnerPid()));
      else await restarted.process.kill();
      killCounts[fault.target]++;
    }
  };
  const restartKinds: string[] = [];
  const restart = async () => {
    for (const [index, downtimeMs] of plan.downtimes.entries()) {
      await faultIsDue(index, restarts);
      if (isOver) return;
      const how = index % 2 === 0 ? 'crash' : 'fast';
      await cluster.stop(how);
      await pause(downtimeMs);
      await cluster.start();
      restartKinds.push(how);
    }
  };
  const leave = async () => {
    await faultIsDue(0, 1);
    const isGone = () =>
      admin.deleteAccount(leaver).then(
        () => true,
        (error) => /No account/.test(error.message),
      );
    await until(async () => isOver || isGone(), 60_000);
  };
  await Promise.all([create(), follow(), kill(), restart(), leave()]);

  const db = databaseOf(cluster.url);
  const left = (where: 'open' | 'any') =>
    db
      .selectFrom('jobs')
      .select('id')
      .where('account_id', '=', leaver)
      .$if(where === 'open', (query) => query.where('finished_at', 'is', null))
      .execute();
  await until(async () => (await left('open')).length === 0, 90_000);
  // Housekeeping, which runs every minute and at each start, deletes the jobs of the account, and removes files.
  await apis[0]!.process.kill();
  const pending = db.selectFrom('deleted_jobs').select('job_id').where('pending', '=', 1);
  await until(async () => [await left('any'), await pending.execute()].flat().length === 0, 90_000);
  // The delivery of a killed server waits until its lease of 30 s expires.
  await until(async () => {
    const waiting = await db.selectFrom('deliveries').select('state').where('state', '=', 'waiting').limit(1).execute();
    return waiting.length === 0;
  }, 90_000);
  expect(modelUrls.length).toBeGreaterThan(0);
  for (const url of modelUrls) {
    const key = new URL(url).pathname.split('/').slice(-3).join('/');
    expect((await request('GET', `/assets/${key}`)).status).toBe(410);
    expect((await fetch(url)).status).toBe(404);
  }
  const { balance_usd } = (await request('GET', '/v1/balance')).body as { balance_usd: number };
  await Promise.all([...apis, ...workers].map((restarted) => restarted.end()));

  const outcome = await readOutcome(db, receiver.received);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `cluster test: ${kills} kills (${JSON.stringify(killCounts)}), ` +
      `PostgreSQL restarted: ${restartKinds.length} (${restartKinds.join(', ')}); ` +
      `${polled.size + leaverJobs} accepted, ${deleted.size} deleted, ${summaryOf(outcome)}; ${served} models served; ${seconds} s`,
  );
  expect(startFailures).toEqual([]);
  expect(restartKinds).toHaveLength(restarts);
  expectOneEndEach(outcome, polled.keys(), (instance) => rates[instance!]!, deleted);
  const charges = outcome.charges.filter(({ account_id }) => account_id === stayer);
  expect(Math.round(balance_usd * 1e6)).toBe(balanceUsd * 1e6 - totalCharges({ ...outcome, charges }));
  for (const { error_code } of outcome.jobs) expect([null, 'internal_error']).toContain(error_code);
  expect([...polled.values()].flatMap(stepsBack)).toEqual([]);
  expect(served).toBe(outcome.succeeded.length);

  // The sweep finds what killed attempts left by its markers. Then the bucket has only the models.
  await new S3AssetStore(bucket).sweep(Date.now() + 60_000, async (id) => {
    const job = outcome.jobs.find((one) => one.id === id);
    if (job) return { finished: job.finished_at !== null, modelKey: job.model_key };
    return deleted.has(id) ? { finished: true, modelKey: null } : undefined;
  });
  const photos = await keysIn(bucket, 'inputs/');
  expect(photos.filter((key) => [...deleted].some((id) => key.includes(id)))).toEqual([]);
  const models = outcome.succeeded.flatMap(({ model_key }) => assetFiles(model_key!));
  expect((await keysIn(bucket, 'assets/')).sort()).toEqual(models.map((key) => `assets/${key}`).sort());
  expect(await keysIn(bucket, 'unsettled/')).toEqual([]);
});
