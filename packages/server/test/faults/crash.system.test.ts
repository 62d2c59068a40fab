// The promise of a 202: regardless of which process is killed and when, the job ends once, is charged once, and its last
// event is delivered. Slow because a start follows each kill, and takes seconds. GEN3D_TEST_SEED=NUMBER repeats a run.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, inject, onTestFinished, test } from 'vitest';
import { readModel } from '../../../convert/src/model-parts.js';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { ballPhoto, transparentPhoto } from '../ball-photo.js';
import { freePort } from '../free-port.js';
import { databaseOf, imageJob, newInstallation, onPostgres, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import {
  expectOneEndEach,
  isWholeGlb,
  isWholeJpeg,
  readOutcome,
  type State,
  stepsBack,
  summaryOf,
  totalCharges,
} from './outcome.js';
import { makePrivateCa } from './private-ca.js';
import { openReceiver } from './receiver.js';
import { childrenOf, killPid, type ServerProcess, spawnServer } from './server-process.js';

const seed = inject('seed');
/** A kill does less to PostgreSQL than to SQLite, whose transactions end with the process. */
const kills = inject('soak') ? (onPostgres ? 12 : 50) : onPostgres ? 4 : 7;
/** Unfinished jobs: enough to keep the runner busy, few enough to finish soon after the last kill. */
const openJobs = 5;
const rateUsdPerSecond = 0.002;
const balanceUsd = 100;

const targets = ['api', 'runner', 'both', ...(process.platform === 'linux' ? (['decoder'] as const) : [])] as const;

const plan = fc.sample(
  fc.record({
    target: fc.constantFrom(...targets),
    /** Whether to kill after the server is ready again; otherwise, it may be killed during its start. */
    whenReady: fc.boolean(),
    /** Usually short; sometimes long enough for a few inferences to finish. */
    delayMs: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 1_500 }) },
      { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 6_000 }) },
    ),
  }),
  { seed, numRuns: kills },
);

const photoJob = (photo: Buffer) => imageJob(photo, { back: photo });
const needle = photoJob(ballPhoto(160, 0.1));
/** Mostly quick jobs, so that many succeed between the kills. */
const bodies = [
  needle,
  photoJob(ballPhoto()),
  needle,
  photoJob(transparentPhoto()),
  needle,
  { type: 'reserved', input: {} },
];

/** The first child of a server that is not its runner. */
const decoderOf = (server: ServerProcess) => childrenOf(server.pid).find((pid) => pid !== server.runnerPid());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The incomplete files that the asset server would serve. */
async function incompleteFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = names.filter((name) => /(^|[\\/])(model\.glb|thumbnail\.jpg)$/.test(name));
  const broken: string[] = [];
  for (const name of files) {
    // A runner may be deleting the files of an earlier attempt.
    const bytes = await readFile(join(folder, name)).catch(() => undefined);
    if (bytes && !(name.endsWith('.glb') ? isWholeGlb(bytes) : isWholeJpeg(bytes))) broken.push(name);
  }
  return broken;
}

test(`${kills} kills of the server, the runner or a decoder lose no job and repeat no effect`, {
  timeout: 600_000,
}, async () => {
  console.log(`crash test: GEN3D_TEST_SEED=${seed}`);
  const installation = await newInstallation();
  const { database, assets, inputs } = dataDirOf(installation);
  const ca = await makePrivateCa();
  // Every tenth response is an error, so that some kills happen between a delivery and its retry.
  const receiver = await openReceiver(ca, (response, _delivered, count) => {
    response.writeHead(count % 10 === 0 ? 500 : 200).end();
  });
  onTestFinished(() => receiver.close());
  const settings = {
    ...installation,
    port: await freePort(),
    leaseSeconds: 2,
    allowPrivateNetwork: true,
    rates: { g6e: rateUsdPerSecond },
    instance: 'g6e',
    webhookRetryDelays: [0.2, 0.5, 1, 2, 4],
    bootstrapBalanceUsd: balanceUsd,
  };
  const startFailures: string[] = [];
  const spawn = () => {
    const spawned = spawnServer(settings, ca.trusted);
    spawned.ready.catch((error: Error) => spawned.killed || startFailures.push(error.message));
    return spawned;
  };
  let server: ServerProcess = spawn();
  let killing = true;
  onTestFinished(() => {
    killing = false; // also after a failure, so that no other server is started
    return server.kill();
  });
  await server.call('PUT', '/v1/webhook-endpoint', { url: receiver.url });

  /** Repeats the request until there is a response. The server may be down, or be killed during the request. */
  const request = async (method: string, path: string, body?: unknown) => {
    for (;;) {
      try {
        return await server.call(method, path, body);
      } catch {
        await pause(50);
      }
    }
  };

  const open = new Set<string>();
  const polled = new Map<string, State[]>();
  let served = 0;
  const deleted = new Set<string>();
  /** Creates jobs until the last kill. An interrupted request is repeated with its idempotency key. */
  const create = async () => {
    for (let count = 0; killing; count++) {
      while (open.size >= openJobs && killing) await pause(50);
      if (!killing) return;
      const body = { ...bodies[count % bodies.length], idempotency_key: `job ${count}` };
      const { status, body: response } = await request('POST', '/v1/jobs', body);
      expect(status).toBe(202);
      const { job_id } = CreateJobResponse.parse(response);
      open.add(job_id);
      polled.set(job_id, []);
    }
  };
  let creating = true;
  let ended = 0;
  /** Polls every job until it ends, and reads its files. */
  const follow = async () => {
    while (creating || open.size > 0) {
      for (const id of open) {
        const task = Task.parse((await request('GET', `/v1/jobs/${id}`)).body);
        polled.get(id)!.push(task);
        if (task.finished_at === null) continue;
        open.delete(id);
        if (++ended % 3 === 0) {
          expect((await request('DELETE', `/gen3d/jobs/${id}`)).status).toBe(204);
          deleted.add(id);
        }
        if (task.status !== 'SUCCEEDED' || deleted.has(id)) continue;
        const bytes = async (url: string) => {
          for (;;) {
            try {
              const response = await fetch(url);
              expect(response.status).toBe(200);
              return Buffer.from(await response.arrayBuffer());
            } catch (error) {
              if (!(error instanceof TypeError)) throw error; // fetch throws a TypeError when the connection breaks
              await pause(50);
            }
          }
        };
        await readModel(await bytes(task.model_urls!.glb));
        expect(isWholeJpeg(await bytes(task.thumbnail_url!))).toBe(true);
        served++;
      }
      await pause(200);
    }
  };

  const killCounts = { api: 0, runner: 0, both: 0, decoder: 0 };
  const broken: string[] = [];
  const kill = async () => {
    for (const { target, whenReady, delayMs } of plan) {
      if (whenReady) await server.ready;
      await pause(delayMs);
      // After a kill, the next process starts after a pause, and the log of its start is read later still.
      if (target === 'runner' || target === 'both') await until(async () => killPid(server.runnerPid()), 60_000);
      if (target === 'decoder') await until(async () => killPid(decoderOf(server)), 60_000);
      killCounts[target]++;
      if (target === 'api' || target === 'both') {
        await server.kill();
        broken.push(...(await incompleteFiles(assets)));
        if (!killing) return;
        server = spawn();
      }
    }
    killing = false;
  };
  const created = create().finally(() => {
    creating = false;
  });
  await Promise.all([created, follow(), kill()]);

  const waiting = async () => {
    const db = openDatabase(database);
    const events = await db.selectFrom('deliveries').select('state').where('state', '=', 'waiting').execute();
    await db.destroy();
    return events.length;
  };
  // The delivery of a killed server waits until its lease of 30 s expires.
  await until(async () => (await waiting()) === 0, 90_000);
  const filesLeft = async () => {
    const names = await Promise.all([assets, inputs].map((folder) => readdir(folder, { recursive: true })));
    // The markers of killed attempts are empty, and swept after an hour.
    const files = names.flat().filter((name) => !name.startsWith('.unsettled'));
    return files.filter((name) => [...deleted].some((id) => name.includes(id)));
  };
  // Housekeeping, which runs every minute and at each start, removes the files of a deletion that a kill interrupted.
  await until(async () => (await filesLeft()).length === 0, 90_000);
  const { balance_usd } = (await request('GET', '/v1/balance')).body as { balance_usd: number };
  await server.kill();
  broken.push(...(await incompleteFiles(assets)));

  const db = databaseOf(database);
  const outcome = await readOutcome(db, receiver.received);
  console.log(
    `crash test: ${plan.length} kills (${JSON.stringify(killCounts)}); ` +
      `${polled.size} accepted, ${deleted.size} deleted, ${summaryOf(outcome)}; ${served} models served`,
  );

  expect(startFailures).toEqual([]);
  expectOneEndEach(outcome, polled.keys(), () => rateUsdPerSecond, deleted);
  expect(deleted.size).toBeGreaterThan(0);
  expect(Math.round(balance_usd * 1e6)).toBe(balanceUsd * 1e6 - totalCharges(outcome));
  // A job fails because of its request or image, or after its last attempt.
  for (const { error_code } of outcome.jobs) {
    expect([null, 'unsupported_type', 'no_foreground', 'internal_error']).toContain(error_code);
  }
  // No status or progress decreases.
  expect([...polled.values()].flatMap(stepsBack)).toEqual([]);
  // No file is incomplete.
  expect(broken).toEqual([]);
  expect(served).toBe(outcome.succeeded.length);
  if (onPostgres) return;
  expect((await sql`pragma integrity_check`.execute(db)).rows).toEqual([{ integrity_check: 'ok' }]);
  expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
});
