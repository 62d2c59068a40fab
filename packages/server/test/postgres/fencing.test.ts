// A machine loses its network during a job, and returns with its result after another machine has finished the job.
// Slow because a lease must expire, on two servers and a PostgreSQL that take seconds to start.

import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { CreateJobResponse } from '@gen3d/schema';
import { afterAll, expect, test } from 'vitest';
import { readModel } from '../../../convert/src/model-parts.js';
import { S3AssetStore } from '../../src/cluster/s3/s3-asset-store.js';
import type { JobRow } from '../../src/data/db/tables.js';
import { ballPhoto } from '../ball-photo.js';
import { type ServerProcess, spawnServer } from '../faults/server-process.js';
import { type AtEnd, assetFiles, imageJob, temporaryFolder, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { FaultyProxy } from '../s3/faulty-proxy.js';
import { bucketName, keysIn, sharedS3 } from '../s3/kit.js';
import { startCluster } from './cluster.js';

const cleanups: (() => void | Promise<void>)[] = [];
afterAll(async () => {
  for (const end of cleanups.reverse()) await end();
});
const atEnd = (end: () => void | Promise<void>) => void cleanups.push(end);

const s3 = sharedS3();
const photoJob = imageJob(ballPhoto());
const lostTheLease = 'lost the lease of the job';

/** A server with one runner, as on a machine with its own network. */
interface Machine {
  server: ServerProcess;
  /** The proxy between this machine and the bucket. */
  bucketProxy: FaultyProxy;
  /** Disconnects it from the database and the bucket. Both sides keep their connections, and get no response. */
  cut(): void;
  join(): void;
}

async function startMachine(databaseUrl: string, assets: string): Promise<Machine> {
  const bucketProxy = new FaultyProxy(s3.store());
  atEnd(() => bucketProxy.stop());
  const [database, bucket] = [new URL(databaseUrl), new URL(await bucketProxy.start())];
  const network: SilentProxy[] = [];
  for (const url of [database, bucket]) {
    const proxy = await SilentProxy.start(Number(url.port), atEnd);
    url.port = String(proxy.port);
    network.push(proxy);
  }
  const settings = {
    dataDir: temporaryFolder(atEnd),
    database: database.href,
    assets,
    s3Endpoint: bucket.origin,
    noTestKey: true,
    workers: 1,
    resolution: 256, // so that the inference outlasts the cut
    leaseSeconds: 3,
    rates: { g6e: 0.002 },
    instance: 'g6e',
    bootstrapBalanceUsd: 10,
  };
  const server = spawnServer(settings);
  atEnd(() => server.kill());
  await server.ready;
  const cut = () => {
    for (const proxy of network) proxy.silence();
  };
  const join = () => {
    for (const proxy of network) proxy.resume();
  };
  return { server, bucketProxy, cut, join };
}

async function startMachines() {
  const cluster = await startCluster();
  atEnd(() => cluster.remove());
  const { bucket, prefix, url } = s3.emptyBucket();
  // In sequence, because the first one creates the tables and the account.
  const machines: Machine[] = [];
  for (let i = 0; i < 2; i++) machines.push(await startMachine(cluster.url, `s3://${bucketName}/${prefix}`));
  const db = openDatabase(cluster.url);
  atEnd(() => db.destroy());

  const row = (id: string) => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const keysOf = (id: string) => keysIn(bucket, `assets/${id}/`);
  return {
    machines,
    row,
    keysOf,
    async create(): Promise<string> {
      return CreateJobResponse.parse((await machines[0]!.server.call('POST', '/v1/jobs', photoJob)).body).job_id;
    },
    /** Waits until the second machine has finished the job. Returns its row. */
    takenOverAndDone: (id: string) =>
      until(async () => {
        const job = await row(id);
        return job.finished_at !== null && job.attempt === 2 && job;
      }, 90_000),
    /** Expects the row of the second machine, one charge, and one model in the bucket. */
    async expectOneResult(id: string, done: JobRow): Promise<void> {
      expect(await row(id)).toEqual(done);
      const charges = await db.selectFrom('ledger').selectAll().where('job_id', '=', id).execute();
      expect(charges).toHaveLength(1);
      for (const { server } of machines) {
        const task = await until(async () => {
          const response = await server.call('GET', `/v1/jobs/${id}`);
          return response.status === 200 && response;
        }, 60_000);
        expect(task.body).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
      }
      // The machine that lost the lease deletes its files. If it cannot, the sweep does.
      const outcome = async () => ({ finished: true, modelKey: done.model_key });
      await new S3AssetStore(bucket).sweep(Date.now() + 60_000, outcome);
      expect(await keysOf(id)).toEqual(assetFiles(done.model_key!).map((file) => `assets/${file}`));
      await readModel(Buffer.from(await (await fetch(`${url}assets/${done.model_key}`)).arrayBuffer()));
    },
  };
}

test('a machine without its network finishes its inference while another one takes over, and its late result is refused', {
  timeout: 240_000,
}, async () => {
  const { machines, row, create, takenOverAndDone, expectOneResult } = await startMachines();
  const id = await create();
  // It has read its photo from the bucket, which it cannot after the cut.
  const { runner } = await until(async () => {
    const job = await row(id);
    return job.status === 'IN_PROGRESS' && job.progress > 30 && job;
  }, 60_000);
  const holder = machines.find(({ server }) => server.pidOf(runner!) !== undefined)!;
  const hasStored = () =>
    holder.bucketProxy.seen.some(({ what }) => what.startsWith('PUT') && what.includes(`assets/${id}`));
  holder.cut();
  const done = await takenOverAndDone(id);
  // The second machine began later, so the first one is done in any case, or nearly so.
  if (process.platform === 'linux') await until(() => isIdle(holder.server.pidOf(runner!)!), 60_000);
  expect([hasStored(), holder.server.timesLogged(lostTheLease)]).toEqual([false, 0]);
  holder.join();
  await until(async () => holder.server.timesLogged(lostTheLease) === 1, 90_000);
  await expectOneResult(id, done);
});

/** Whether a process was idle for half a second. Threads that wait for a processor count as busy. Only on Linux. */
async function isIdle(pid: number): Promise<boolean> {
  for (let sample = 0; sample < 10; sample++) {
    for (const task of await readdir(`/proc/${pid}/task`)) {
      const stat = await readFile(`/proc/${pid}/task/${task}/stat`, 'utf8').catch(() => ') S');
      if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('R')) return false;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

/** A proxy for TCP that can fall silent, like a network that loses every packet: nothing passes, and nothing fails. */
class SilentProxy {
  readonly #sockets = new Set<Socket>();
  #silent = false;
  /** Its port on loopback. */
  readonly port: number;

  private constructor(port: number) {
    this.port = port;
  }

  /** Forwards to a port of loopback until the end. */
  static async start(target: number, atEnd: AtEnd): Promise<SilentProxy> {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new SilentProxy((server.address() as AddressInfo).port);
    server.on('connection', (client) => proxy.#forward(client, connect(target, '127.0.0.1')));
    atEnd(() => {
      server.close();
      for (const socket of proxy.#sockets) socket.destroy();
    });
    return proxy;
  }

  /** Delays everything that is sent from now on until `resume`, including the ends of connections. */
  silence(): void {
    this.#silent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  resume(): void {
    this.#silent = false;
    for (const socket of this.#sockets) socket.resume();
  }

  #forward(client: Socket, upstream: Socket): void {
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#silent) from.pause();
      else from.resume();
    }
  }
}
