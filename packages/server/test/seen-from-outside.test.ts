import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newUlid } from '../src/base/ids.js';
import { version } from '../src/base/version.js';
import type { Db } from '../src/data/db/open.js';
import { currentTime } from '../src/data/db/time.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { announce, liveRunners } from '../src/data/runners/registry.js';
import { asDataUri, ballPhoto } from './ball-photo.js';
import { makePrivateCa, type PrivateCa } from './faults/private-ca.js';
import { openReceiver } from './faults/receiver.js';
import { firstApiKey, type ServerProcess, spawnServer } from './faults/server-process.js';
import { type Installation, newInstallation, newJob, startServer, type TestServer, until } from './kit.js';
import { openDatabase } from './open-database.js';

const photo = { type: 'image-to-3d', input: { image_urls: [asDataUri(ballPhoto(160, 0.1))] } };

function databaseOf({ config }: TestServer): Db {
  const db = openDatabase(openDataDir(config).database);
  onTestFinished(() => db.destroy());
  return db;
}

async function finished({ call }: Pick<TestServer, 'call'>, id: string): Promise<Task> {
  return until(async () => {
    const task = Task.parse((await call('GET', `/v1/jobs/${id}`)).body);
    return task.finished_at !== null && task;
  }, 150_000);
}

describe('/readyz', () => {
  const runner = {
    id: 'elsewhere',
    host: 'gpu-1',
    pid: 1,
    version: '0.1.0',
    instance: 'g6e',
    bundle: 'inflate',
    device: 'cpu',
    adapter: null,
  };
  const ok = { server: 'ok', database: 'ok', assets: 'ok', runners: 'ok' };

  test('is 503 with the failed checks without an active runner, and when the assets folder is missing', async () => {
    const server = await startServer();
    const db = databaseOf(server);
    const readyz = () => server.call('GET', '/readyz', undefined, null);
    expect(await readyz()).toMatchObject({
      status: 503,
      body: { status: 'not ready', checks: { ...ok, runners: 'no active runner on any machine' } },
    });
    // The process itself works, so there is no reason to restart it.
    expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
    await announce(db, runner, 3_600_000, currentTime(db));
    const ready = await until(async () => {
      const response = await readyz();
      return response.status === 200 && response;
    });
    expect(ready.body).toEqual({ status: 'ready', checks: ok });
    expect(ready.headers.get('cache-control')).toBe('no-store');

    rmSync(openDataDir(server.config).assets, { recursive: true });
    const without = await until(async () => {
      const response = await readyz();
      return response.status === 503 && response;
    });
    expect(without.body).toEqual({
      status: 'not ready',
      checks: { ...ok, assets: 'not reachable or not writable' },
    });
    expect(JSON.stringify(without.body)).not.toContain(server.config.dataDir);
  });

  test('ignores runners with an old heartbeat', async () => {
    const server = await startServer();
    const db = databaseOf(server);
    await announce(db, runner, 0, currentTime(db));
    expect((await server.call('GET', '/readyz', undefined, null)).status).toBe(503);
  });
});

describe('a server with a runner', () => {
  const cleanups: (() => void | Promise<void>)[] = [];
  let ca: PrivateCa;
  let installation: Installation;
  let server: ServerProcess;
  let db: Db;

  beforeAll(async () => {
    const atEnd = (end: () => void | Promise<void>) => void cleanups.push(end);
    ca = await makePrivateCa();
    installation = await newInstallation(atEnd);
    const caFile = join(installation.dataDir, 'ca.pem');
    writeFileSync(caFile, ca.ca);
    const settings = { instance: 'g6e', rates: { g6e: 0.002 }, allowPrivateNetwork: true, webhookRetryDelays: [] };
    server = spawnServer(
      { workers: 1, bootstrapBalanceUsd: 10, ...installation, ...settings },
      { NODE_EXTRA_CA_CERTS: caFile },
    );
    atEnd(() => server.kill());
    await server.ready;
    db = openDatabase(openDataDir(installation).database);
    atEnd(() => db.destroy());
  });
  afterAll(async () => {
    for (const end of cleanups.reverse()) await end();
  });

  /** Sends the account's events to a receiver that responds 200 to the first and 500 to the rest. */
  async function receive(): Promise<void> {
    const { url, close } = await openReceiver(ca, (response, _, count) => {
      response.writeHead(count === 1 ? 200 : 500).end();
    });
    onTestFinished(close);
    expect((await server.call('PUT', '/v1/webhook-endpoint', { url })).status).toBe(200);
  }

  const read = async () => String((await server.call('GET', '/metrics', undefined, null)).body);
  const value = (metrics: string, series: string) => {
    const line = metrics.split('\n').find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };

  test('has metrics of requests, jobs, runners, deliveries and failures', {
    timeout: 400_000,
  }, async () => {
    const idle = await read();
    expect(value(idle, `gen3d_build_info{version="${version}",node="${process.version}"}`)).toBe(1);
    expect(value(idle, 'gen3d_runners{device="cpu",serving_instance="g6e",state="idle"}')).toBe(1);
    expect(value(idle, 'gen3d_lease_takeovers_total')).toBe(0);
    expect(value(idle, 'gen3d_webhook_deliveries_total{outcome="dead"}')).toBe(0);
    const [free, size] = ['free', 'size'].map((name) => value(idle, `gen3d_data_dir_${name}_bytes`)!);
    expect(free).toBeGreaterThan(0);
    expect(size).toBeGreaterThanOrEqual(free!);

    await receive();
    const account = await db.selectFrom('accounts').select('id').where('sandbox', '=', 0).executeTakeFirstOrThrow();
    // A prepared job whose runner is gone, and a new job.
    const abandoned = { id: newUlid(), attempt: 1, runner: 'gone', lease_token: 'x', lease_expires_at: 1 };
    writeFileSync(join(openDataDir(installation).inputs, abandoned.id), ballPhoto(160, 0.1));
    const abandonedId = await newJob(db, account.id, { image_url: null, ...abandoned });
    expect((await finished(server, abandonedId)).status).toBe('SUCCEEDED');
    const { job_id } = CreateJobResponse.parse((await server.call('POST', '/v1/jobs', photo)).body);
    expect((await finished(server, job_id)).status).toBe('SUCCEEDED');
    expect((await server.call('GET', '/v1/jobs/none')).status).toBe(404);
    expect((await server.call('GET', `/v1/${job_id}/nothing`)).status).toBe(404);
    expect((await server.call('POST', '/V1/Jobs/', {})).status).toBe(400);

    const metrics = await until(async () => {
      const now = await read();
      // The runner's message and the deliveries take a moment.
      const isCounted = value(now, 'gen3d_jobs_finished_total{status="SUCCEEDED"}') === 2;
      return isCounted && value(now, 'gen3d_webhook_deliveries_total{outcome="dead"}')! > 0 && now;
    }, 60_000);
    expect(value(metrics, 'gen3d_lease_takeovers_total')).toBe(1);
    // The abandoned job was in its second attempt, which does not count.
    expect(value(metrics, 'gen3d_queue_wait_seconds_count')).toBe(1);
    expect(value(metrics, 'gen3d_inference_duration_seconds_count')).toBe(2);
    expect(value(metrics, 'gen3d_stage_duration_seconds_count{stage="bake"}')).toBe(2);
    expect(value(metrics, 'gen3d_webhook_deliveries_total{outcome="delivered"}')).toBe(1);
    expect(value(metrics, 'gen3d_outbox_events{state="dead"}')).toBeGreaterThan(0);
    const requests = (method: string, route: string, status: number) =>
      value(
        metrics,
        `gen3d_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`,
      );
    expect(requests('POST', '/v1/jobs', 202)).toBe(1);
    expect(requests('GET', '/v1/jobs/:id', 200)).toBeGreaterThan(0);
    expect(requests('GET', '/v1/jobs/:id', 404)).toBe(1);
    expect(requests('POST', '/v1/jobs', 400)).toBe(1);
    expect(requests('GET', 'other', 404)).toBe(1);
    // Values from requests do not create series.
    for (const id of [job_id, abandonedId, account.id]) expect(metrics).not.toContain(id);

    const [runner] = await liveRunners(db, currentTime(db));
    process.kill(runner!.pid, 'SIGKILL');
    await until(async () => value(await read(), 'gen3d_runner_crashes_total{how="crashed"}') === 1, 60_000);
  });

  test('logs the trace id of a client with its request, its job and its webhooks', {
    timeout: 400_000,
  }, async () => {
    await receive();
    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const { headers } = await fetch(`${await server.ready}/v1/jobs`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${firstApiKey}`,
        'content-type': 'application/json',
        'x-request-id': 'mine-1',
        traceparent: `00-${trace_id}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify(photo),
    });
    // The contract’s responses do not have this header.
    expect(headers.get('traceparent')).toBeNull();
    const logged = (message: string) =>
      until(async () => server.logged(message).find((entry) => entry.trace_id === trace_id), 150_000);
    const request = await logged('request');
    expect(request).toMatchObject({ requestId: 'mine-1', path: '/v1/jobs', status: 202 });
    expect(await logged('job succeeded')).toMatchObject({ jobId: request.jobId });
    expect(await logged('webhook failed')).toMatchObject({ jobId: request.jobId, failure: 'HTTP 500' });
  });
});
