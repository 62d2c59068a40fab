// The promise of a 202: whatever is killed at whatever instant, the job ends once, is charged once, and its end is told.
// Slow because each kill is followed by a start, and each start takes seconds. GEN3D_TEST_SEED=NUMBER replays a plan of kills.
import { writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readGlb } from '@gen3d/engine';
import { CreateJobResponse, Task } from '@gen3d/schema';
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/data/db/open.js';
import { openDataDir } from '../../src/data/installation/data-dir.js';
import { asDataUri, ballPhoto, transparentPhoto } from '../ball-photo.js';
import { freePort } from '../free-port.js';
import { newInstallation, onPostgres, until } from '../kit.js';
import { expectOneEndEach, inWords, readOutcome, spentOn } from './outcome.js';
import { makePrivateCa } from './private-ca.js';
import { openReceiver } from './receiver.js';
import { childrenOf, killPid, type ServerProcess, spawnServer } from './server-process.js';
import { type State, stepsBack } from './steps-back.js';
import { isWholeGlb, isWholeJpeg } from './whole-files.js';

const seed = inject('seed');
/** A kill does less to PostgreSQL than to SQLite, whose transactions end with the process. */
const kills = inject('soak') ? (onPostgres ? 12 : 50) : onPostgres ? 4 : 7;
/** Jobs that are open at once: enough to keep the runner busy, few enough to be done soon after the last kill. */
const openJobs = 5;
const rateUsdPerSecond = 0.002;
const balanceUsd = 100;

const targets = [
  'api',
  'runner',
  'both',
  'preparer',
  ...(process.platform === 'linux' ? (['decoder'] as const) : []),
] as const;

const plan = fc.sample(
  fc.record({
    target: fc.constantFrom(...targets),
    /** Whether the server may first come up again; without, it is hit in the middle of its start. */
    whenReady: fc.boolean(),
    /** Mostly blow upon blow; now and then long enough for a few inferences to end. */
    delayMs: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 1_500 }) },
      { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 6_000 }) },
    ),
  }),
  { seed, numRuns: kills },
);

const photoJob = (photo: Buffer) => ({ type: 'image-to-3d', input: { image_urls: [asDataUri(photo)] } });
const needle = photoJob(ballPhoto(160, 0.1));
/** Mostly quick jobs, so that many succeed between the kills. */
const requests = [
  needle,
  photoJob(ballPhoto()),
  needle,
  photoJob(transparentPhoto()),
  needle,
  { type: 'reserved', input: {} },
];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The files that the asset server would serve and that are not whole. */
async function halfWritten(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = names.filter((name) => /(^|[\\/])(model\.glb|thumbnail\.jpg)$/.test(name));
  const broken: string[] = [];
  for (const name of files) {
    // A runner may be clearing away an earlier attempt's files meanwhile.
    const bytes = await readFile(join(folder, name)).catch(() => undefined);
    if (bytes && !(name.endsWith('.glb') ? isWholeGlb(bytes) : isWholeJpeg(bytes))) broken.push(name);
  }
  return broken;
}

test(`${kills} kills of the API, the runner, the preparer or a decoder lose nothing and do nothing twice`, {
  timeout: 600_000,
}, async () => {
  console.log(`crash test: GEN3D_TEST_SEED=${seed}`);
  const installation = await newInstallation();
  const { database, assets } = openDataDir(installation);
  const ca = await makePrivateCa();
  const caFile = join(installation.dataDir, 'ca.pem');
  writeFileSync(caFile, ca.ca);
  // A receiver with hiccups, so that retries cross the kills as well.
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
  const troubles: string[] = [];
  const spawn = () => {
    const spawned = spawnServer(settings, { NODE_EXTRA_CA_CERTS: caFile });
    spawned.ready.catch((error: Error) => spawned.killed || troubles.push(error.message));
    return spawned;
  };
  let server: ServerProcess = spawn();
  let killing = true;
  onTestFinished(() => {
    killing = false; // also after a failure, so that no server is started that nobody would end
    return server.kill();
  });
  await server.call('PUT', '/v1/webhook-endpoint', { url: receiver.url });

  /** Asks until there is an answer: the server may be down, or go down with the request in its hands. */
  const ask = async (method: string, path: string, body?: unknown) => {
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
  /** Creates jobs for as long as there are kills; a request that was cut off is repeated with its idempotency key. */
  const create = async () => {
    for (let count = 0; killing; count++) {
      while (open.size >= openJobs && killing) await pause(50);
      if (!killing) return;
      const body = { ...requests[count % requests.length], idempotency_key: `job ${count}` };
      const { status, body: answer } = await ask('POST', '/v1/jobs', body);
      expect(status).toBe(202);
      const { job_id } = CreateJobResponse.parse(answer);
      open.add(job_id);
      polled.set(job_id, []);
    }
  };
  let creating = true;
  /** Follows every job to its end, and opens what it made. */
  const follow = async () => {
    while (creating || open.size > 0) {
      for (const id of open) {
        const task = Task.parse((await ask('GET', `/v1/jobs/${id}`)).body);
        polled.get(id)!.push(task);
        if (task.finished_at === null) continue;
        open.delete(id);
        if (task.status !== 'SUCCEEDED') continue;
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
        await readGlb(await bytes(task.model_urls!.glb));
        expect(isWholeJpeg(await bytes(task.thumbnail_url!))).toBe(true);
        served++;
      }
      await pause(200);
    }
  };

  const hits = { api: 0, runner: 0, both: 0, preparer: 0, decoder: 0 };
  const broken: string[] = [];
  const kill = async () => {
    for (const { target, whenReady, delayMs } of plan) {
      if (whenReady) await server.ready;
      await pause(delayMs);
      // One that has just been killed is started again after a pause, and its death may be known before its log is read.
      if (target === 'runner' || target === 'both') await until(async () => killPid(server.runnerPid()), 60_000);
      if (target === 'preparer') await until(async () => killPid(server.preparerPid()), 60_000);
      if (target === 'decoder') await until(async () => killPid(childrenOf(server.preparerPid())[0]), 60_000);
      hits[target]++;
      if (target === 'api' || target === 'both') {
        await server.kill();
        broken.push(...(await halfWritten(assets)));
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
    const events = await db.selectFrom('outbox').select('seq').where('dead_at', 'is', null).execute();
    await db.destroy();
    return events.length;
  };
  // A delivery whose server died waits for its lease of 30 s to run out.
  await until(async () => (await waiting()) === 0, 90_000);
  const { balance_usd } = (await ask('GET', '/v1/balance')).body as { balance_usd: number };
  await server.kill();
  broken.push(...(await halfWritten(assets)));

  const db = openDatabase(database);
  onTestFinished(() => db.destroy());
  const outcome = await readOutcome(db, receiver.received);
  console.log(
    `crash test: ${plan.length} kills (${JSON.stringify(hits)}); ` +
      `${polled.size} accepted, ${inWords(outcome)}; ${served} models served`,
  );

  expect(troubles).toEqual([]);
  expectOneEndEach(outcome, polled.keys(), () => rateUsdPerSecond);
  expect(Math.round(balance_usd * 1e6)).toBe(balanceUsd * 1e6 - spentOn(outcome));
  // A job fails for what is wrong with it, or after its last attempt.
  for (const { error_code } of outcome.jobs) {
    expect([null, 'unsupported_type', 'no_foreground', 'internal_error']).toContain(error_code);
  }
  // Nothing goes back.
  expect([...polled.values()].flatMap(stepsBack)).toEqual([]);
  // Nothing half-written.
  expect(broken).toEqual([]);
  expect(served).toBe(outcome.succeeded.length);
  if (onPostgres) return;
  expect((await sql`pragma integrity_check`.execute(db)).rows).toEqual([{ integrity_check: 'ok' }]);
  expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
});
