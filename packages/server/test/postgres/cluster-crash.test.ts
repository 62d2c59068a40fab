// Two API servers and three workers on one PostgreSQL and one bucket, killed at random while the database is restarted:
// each accepted job ends once, is charged once, and its end is told.
// Slow because it starts eight processes and a PostgreSQL, and most of them again. GEN3D_TEST_SEED=NUMBER replays a plan.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readGlb } from '@gen3d/engine';
import { CreateJobResponse, Task } from '@gen3d/schema';
import fc from 'fast-check';
import { expect, inject, onTestFinished, test } from 'vitest';
import { S3AssetStore } from '../../src/data/assets/s3-store.js';
import { openDatabase } from '../../src/data/db/open.js';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { expectOneEndEach, inWords, readOutcome, spentOn } from '../faults/outcome.js';
import { makePrivateCa } from '../faults/private-ca.js';
import { openReceiver } from '../faults/receiver.js';
import { killPid, spawnServer, spawnWorker, type WorkerProcess } from '../faults/server-process.js';
import { type State, stepsBack } from '../faults/steps-back.js';
import { isWholeJpeg } from '../faults/whole-files.js';
import { freePort } from '../free-port.js';
import { temporaryFolder, until } from '../kit.js';
import { bucketName, keysIn, sharedS3 } from '../s3/kit.js';
import { startCluster } from './cluster.js';

const seed = inject('seed');
const [jobCount, kills, restarts] = inject('soak') ? [300, 34, 2] : [12, 3, 1];
/** Enough to keep three runners busy, few enough to be done soon after the last kill. */
const openJobs = 12;
/** USD per second by instance: each worker is one of its own. */
const rates: Record<string, number> = { one: 0.002, two: 0.003, three: 0.005 };
const balanceUsd = 100;

const pauseMs = fc.integer({ min: 0, max: 1_000 });
const plan = fc.sample(
  fc.record({
    kills: fc.array(
      fc.record({
        target: fc.constantFrom('api' as const, 'worker' as const, 'runner' as const, 'preparer' as const),
        index: fc.nat({ max: 5 }),
        /** Whether the victim may first come up again; without, it is hit in the middle of its start. */
        whenReady: fc.boolean(),
        pauseMs,
      }),
      { minLength: kills, maxLength: kills, size: 'max' },
    ),
    /** How long the database is unavailable. */
    away: fc.array(pauseMs, { minLength: restarts, maxLength: restarts }),
  }),
  { seed, numRuns: 1 },
)[0]!;

const s3 = sharedS3();
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const photoJob = { type: 'image-to-3d', input: { image_urls: [asDataUri(ballPhoto(160, 0.1))] } };
/** What a process says that ends because there is no database when it starts. */
const noDatabase = /Cannot use the database|PostgreSQL was lost|No connection to PostgreSQL/;

/** A process that is started again whenever it ends, as systemd and Kubernetes do. */
class Kept<Process extends WorkerProcess> {
  readonly #spawn: () => Process;
  readonly #troubles: string[];
  #process: Process;
  #over = false;
  readonly #done: Promise<void>;

  constructor(spawn: () => Process, troubles: string[]) {
    this.#spawn = spawn;
    this.#troubles = troubles;
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
        this.#troubles.push(errors.join('\n') || 'ended without a word');
      if (this.#over) return;
      if (!killed) await pause(500);
      this.#process = this.#spawn();
    }
  }

  /** Waits through starts that fail because there is no database. */
  async ready(): Promise<void> {
    while (!(await this.#process.ready.then(Boolean, () => false))) await pause(50);
  }

  async end(): Promise<void> {
    this.#over = true;
    await this.#process.kill();
    await this.#done;
  }
}

test(`${jobCount} jobs on two API servers and three workers outlive ${kills} kills and ${restarts} restarts of PostgreSQL`, {
  timeout: 300_000 + jobCount * 8_000,
}, async () => {
  console.log(`cluster test: GEN3D_TEST_SEED=${seed}`);
  const began = performance.now();
  const cluster = await startCluster();
  onTestFinished(() => cluster.remove());
  const { bucket, prefix } = s3.emptyBucket();
  const ca = await makePrivateCa();
  const caFile = join(temporaryFolder(), 'ca.pem');
  writeFileSync(caFile, ca.ca);
  // A receiver with hiccups, so that retries cross the kills as well.
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
  const troubles: string[] = [];
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
    return new Kept(() => spawnServer(settings, { NODE_EXTRA_CA_CERTS: caFile }), troubles);
  };
  const startWorker = (instance: string) => {
    const settings = { ...shared, workers: 1, leaseSeconds: 3, instance, dataDir: temporaryFolder() };
    return new Kept(() => spawnWorker(settings), troubles);
  };
  const apis = [await startApi(), await startApi()];
  const workers = Object.keys(rates).map(startWorker);
  let over = false;
  onTestFinished(async () => {
    over = true; // also after a failure, so that nothing is killed that nobody would start
    await Promise.all([...apis, ...workers].map((kept) => kept.end()));
  });

  let asked = 0;
  /** Asks one server after the other until there is an answer: either may be down, and so may the database. */
  const ask = async (method: string, path: string, body?: unknown) => {
    for (;;) {
      try {
        const answer = await apis[asked++ % apis.length]!.process.call(method, path, body);
        if (answer.status < 500) return answer;
      } catch {
        // No connection, or one that broke.
      }
      await pause(50);
    }
  };
  await ask('PUT', '/v1/webhook-endpoint', { url: receiver.url });

  /** Resolves when `check` says so, or when the test is over; how long the jobs take is for the test's own limit to say. */
  const whenever = (check: () => boolean) => until(async () => over || check(), Number.POSITIVE_INFINITY);

  const open = new Set<string>();
  const polled = new Map<string, State[]>();
  const create = async () => {
    for (let count = 0; count < jobCount; count++) {
      await whenever(() => open.size < openJobs);
      if (over) return;
      const { status, body } = await ask('POST', '/v1/jobs', { ...photoJob, idempotency_key: `job ${count}` });
      expect(status).toBe(202);
      const { job_id } = CreateJobResponse.parse(body);
      open.add(job_id);
      polled.set(job_id, []);
    }
  };
  let served = 0;
  const follow = async () => {
    while (!over && (polled.size < jobCount || open.size > 0)) {
      for (const id of open) {
        const task = Task.parse((await ask('GET', `/v1/jobs/${id}`)).body);
        polled.get(id)!.push(task);
        if (task.finished_at === null) continue;
        open.delete(id);
        if (task.status !== 'SUCCEEDED') continue;
        const [model, thumbnail] = await Promise.all([fetch(task.model_urls!.glb), fetch(task.thumbnail_url!)]);
        await readGlb(Buffer.from(await model.arrayBuffer()));
        expect(isWholeJpeg(Buffer.from(await thumbnail.arrayBuffer()))).toBe(true);
        served++;
      }
      await pause(500);
    }
  };
  /** Spreads `count` blows over the jobs, so that a slow machine gets no more of them than a fast one. */
  const blowIsDue = (index: number, count: number) =>
    whenever(() => polled.size >= ((index + 1) * jobCount) / (count + 1));

  const hits = { api: 0, worker: 0, runner: 0, preparer: 0 };
  const kill = async () => {
    for (const [index, blow] of plan.kills.entries()) {
      await blowIsDue(index, kills);
      await pause(blow.pauseMs);
      if (over) return;
      const among: Kept<WorkerProcess>[] = blow.target === 'api' ? apis : workers;
      const kept = among[blow.index % among.length]!;
      if (blow.whenReady) await kept.ready();
      if (blow.target === 'runner') await whenever(() => killPid(kept.process.runnerPid()));
      else if (blow.target === 'preparer') await whenever(() => killPid(kept.process.preparerPid()));
      else await kept.process.kill();
      hits[blow.target]++;
    }
  };
  const restarted: string[] = [];
  const restart = async () => {
    for (const [index, awayMs] of plan.away.entries()) {
      await blowIsDue(index, restarts);
      if (over) return;
      const how = index % 2 === 0 ? 'crash' : 'fast';
      await cluster.stop(how);
      await pause(awayMs);
      await cluster.start();
      restarted.push(how);
    }
  };
  await Promise.all([create(), follow(), kill(), restart()]);

  const db = openDatabase(cluster.url);
  onTestFinished(() => db.destroy());
  // A delivery whose server died waits for its lease of 30 s to run out.
  await until(async () => {
    const waiting = await db.selectFrom('outbox').select('seq').where('dead_at', 'is', null).limit(1).execute();
    return waiting.length === 0;
  }, 90_000);
  const { balance_usd } = (await ask('GET', '/v1/balance')).body as { balance_usd: number };
  await Promise.all([...apis, ...workers].map((kept) => kept.end()));

  const outcome = await readOutcome(db, receiver.received);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `cluster test: ${kills} kills (${JSON.stringify(hits)}), ` +
      `PostgreSQL restarted: ${restarted.length} (${restarted.join(', ')}); ` +
      `${polled.size} accepted, ${inWords(outcome)}; ${served} models served; ${seconds} s`,
  );
  expect(troubles).toEqual([]);
  expect(restarted).toHaveLength(restarts);
  expectOneEndEach(outcome, polled.keys(), (instance) => rates[instance!]!);
  expect(Math.round(balance_usd * 1e6)).toBe(balanceUsd * 1e6 - spentOn(outcome));
  for (const { error_code } of outcome.jobs) expect([null, 'internal_error']).toContain(error_code);
  expect([...polled.values()].flatMap(stepsBack)).toEqual([]);
  expect(served).toBe(outcome.succeeded.length);

  // What killed attempts left in the bucket is found by its marks; then there are the models, and nothing else.
  await new S3AssetStore(bucket).sweep(Date.now() + 60_000, async (id) => {
    const job = outcome.jobs.find((one) => one.id === id);
    return job && { finished: job.finished_at !== null, modelKey: job.model_key };
  });
  const models = outcome.succeeded.flatMap(({ model_key, thumbnail_key }) => [model_key, thumbnail_key]);
  expect((await keysIn(bucket, 'assets/')).sort()).toEqual(models.map((key) => `assets/${key}`).sort());
  expect(await keysIn(bucket, 'unsettled/')).toEqual([]);
});
