import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newUlid } from '../src/base/ids.js';
import { version } from '../src/base/version.js';
import { loadConfig } from '../src/config.js';
import type { Db } from '../src/data/db/database.js';
import { currentTime } from '../src/data/db/time.js';
import { packPixels } from '../src/data/inputs/stored-image.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { liveRunners } from '../src/data/runners/registry.js';
import { worker } from '../src/index.js';
import { ballPhoto, ballPixels } from './ball-photo.js';
import { sharedServer } from './contract/kit.js';
import { makePrivateCa, type PrivateCa } from './faults/private-ca.js';
import { openReceiver } from './faults/receiver.js';
import { firstApiKey, type ServerProcess, spawnServer } from './faults/server-process.js';
import {
  callServer,
  createJob,
  finishedJob,
  type Installation,
  imageJob,
  newInstallation,
  newJob,
  smallModels,
  startServer,
  until,
} from './kit.js';
import { openDatabase } from './open-database.js';

const photo = imageJob(ballPhoto(160, 0.1));

describe('a server with a runner', () => {
  const cleanups: (() => void | Promise<void>)[] = [];
  let ca: PrivateCa;
  let installation: Installation;
  let server: ServerProcess;
  let db: Db;

  beforeAll(async () => {
    const atEnd = (end: () => void | Promise<void>) => void cleanups.push(end);
    ca = await makePrivateCa(atEnd);
    installation = await newInstallation(atEnd);
    const settings = { instance: 'g6e', rates: { g6e: 0.002 }, allowPrivateNetwork: true, webhookRetryDelays: [] };
    server = spawnServer({ workers: 1, bootstrapBalanceUsd: 10, ...installation, ...settings }, ca.trusted);
    atEnd(() => server.kill());
    await server.ready;
    db = openDatabase(dataDirOf(installation).database);
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
  const finished = async (body: unknown) => {
    const job_id = await createJob(server.call, body);
    expect((await finishedJob(server.call, job_id)).status).toBe('SUCCEEDED');
    return job_id;
  };
  const value = (metrics: string, series: string) => {
    const line = metrics.split('\n').find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };
  /** Waits until these series, which do not exist before their first event, have grown by these numbers since `before`. */
  const grown = (before: string, growth: Record<string, number>) =>
    until(async () => {
      const now = await read();
      const difference = (series: string) => (value(now, series) ?? 0) - (value(before, series) ?? 0);
      return Object.entries(growth).every(([series, by]) => difference(series) === by) && now;
    }, 60_000);

  test('has metrics of its version, its runners and its disk', async () => {
    const metrics = await read();
    expect(value(metrics, `gen3d_build_info{version="${version}",node="${process.version}"}`)).toBe(1);
    expect(value(metrics, 'gen3d_runners{device="cpu",serving_instance="g6e",state="idle"}')).toBe(1);
    const [free, size] = ['free', 'size'].map((name) => value(metrics, `gen3d_data_dir_${name}_bytes`)!);
    expect(free).toBeGreaterThan(0);
    expect(size).toBeGreaterThanOrEqual(free!);
  });

  test('counts a job with its wait, its inference and its stages', async () => {
    const before = await read();
    const id = await finished(photo);
    const metrics = await grown(before, {
      'gen3d_jobs_finished_total{status="SUCCEEDED"}': 1,
      gen3d_queue_wait_seconds_count: 1,
      gen3d_inference_duration_seconds_count: 1,
      'gen3d_stage_duration_seconds_count{stage="bake"}': 1,
      gen3d_lease_takeovers_total: 0,
    });
    expect(metrics).not.toContain(id);
  });

  test('counts a job whose runner is gone as taken over, and its wait not a second time', async () => {
    const before = await read();
    const { id: account } = await db
      .selectFrom('accounts')
      .select('id')
      .where('sandbox', '=', 0)
      .executeTakeFirstOrThrow();
    const abandoned = { id: newUlid(), attempt: 1, runner: 'gone', lease_token: 'x', lease_expires_at: 1 };
    writeFileSync(join(dataDirOf(installation).inputs, `${abandoned.id}.front`), packPixels(ballPixels(160, 0.1)));
    await newJob(db, account, { image_urls: null, ...abandoned });
    await grown(before, {
      gen3d_lease_takeovers_total: 1,
      'gen3d_jobs_finished_total{status="SUCCEEDED"}': 1,
      gen3d_queue_wait_seconds_count: 0,
      gen3d_inference_duration_seconds_count: 1,
    });
  });

  test('counts delivered and dead events', async () => {
    const before = await read();
    const dead = 'gen3d_webhook_deliveries_total{outcome="dead"}';
    expect(value(before, dead)).toBe(0);
    await receive();
    await finished(photo);
    await until(async () => {
      const now = await read();
      // The events are counted every few seconds.
      const counted = value(now, 'gen3d_outbox_events{state="dead"}')! > 0;
      return (
        counted && value(now, dead)! > 0 && value(now, 'gen3d_webhook_deliveries_total{outcome="delivered"}') === 1
      );
    }, 60_000);
  });

  test('logs the trace id of a client with its request, its job and its webhooks', async () => {
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

  test('counts a runner that is killed', async () => {
    const before = await read();
    const [runner] = await liveRunners(db, currentTime(db));
    process.kill(runner!.pid, 'SIGKILL');
    await grown(before, { 'gen3d_runner_crashes_total{how="crashed"}': 1 });
  });
});

/** A log, and the URL of the metrics in it. */
function metricsLog() {
  const entries: { msg: string; url?: string }[] = [];
  const log = pino({ base: null }, { write: (line: string) => entries.push(JSON.parse(line)) });
  const address = () => {
    const url = entries.find(({ msg }) => msg === 'serving metrics')?.url;
    return url?.replace(/\/metrics$/, '');
  };
  return { log, address };
}

const get = (url: string, path: string) => callServer(url, 'GET', path, undefined, null);

test('a worker serves its health and the counts of its runners on a separate port, and nothing else there', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const { log, address } = metricsLog();
  const settings = { ...installation, ...smallModels, metricsPort: 0 };
  const running = await worker(loadConfig({}, {}, settings), { log });
  onTestFinished(() => running.close({ graceMs: 0 }));
  const url = address()!;
  expect(await get(url, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect((await get(url, '/v1/jobs')).status).toBe(404);
  await server.call('POST', '/v1/jobs', photo);
  const counted = 'gen3d_jobs_finished_total{status="SUCCEEDED"} 1\n';
  await until(async () => String((await get(url, '/metrics')).body).includes(counted), 60_000);
  expect(String((await get(server.url, '/metrics')).body)).not.toContain(counted);
});

test('a server with a metrics port serves its metrics on that port and not on the public one', async () => {
  const { log, address } = metricsLog();
  const server = await startServer({ metricsPort: 0 }, { log });
  expect((await get(server.url, '/metrics')).status).not.toBe(200);
  expect((await get(server.url, '/healthz')).status).toBe(200);
  expect((await get(address()!, '/metrics')).body).toContain('gen3d_database_up 1');
  await server.close({ graceMs: 0 });
  await expect(fetch(address()!)).rejects.toThrow();
});

test.runIf(process.platform === 'linux')(
  'the metrics port is open to other addresses only if it is asked to be',
  async () => {
    for (const [settings, isOpen] of [
      [{ host: '0.0.0.0' }, false],
      [{ metricsHost: '0.0.0.0' }, true],
    ] as const) {
      const { log, address } = metricsLog();
      await startServer({ metricsPort: 0, ...settings }, { log });
      const elsewhere = get(address()!.replace('127.0.0.1', '127.0.0.2'), '/healthz');
      expect(
        await elsewhere.then(
          ({ status }) => status,
          () => 'refused',
        ),
      ).toBe(isOpen ? 200 : 'refused');
    }
  },
);

describe('docs/operations', () => {
  const { server } = sharedServer();
  const page = (name: string) => readFileSync(new URL(`../../../docs/operations/${name}`, import.meta.url), 'utf8');

  interface Metric {
    name: string;
    type: string;
  }

  let metrics: Metric[];

  beforeAll(async () => {
    const text = String((await server().call('GET', '/metrics', undefined, null)).body);
    metrics = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => ({ name: name!, type: type! }));
  });

  /** Whether prom-client defines the metric. */
  const isDefaultMetric = ({ name }: Metric) => /^gen3d_(process|nodejs)_/.test(name);

  test('the table in monitoring.md lists exactly our metrics, with their types', () => {
    const rows = [...page('monitoring.md').matchAll(/^\| `(gen3d_\w+)` \| (\w+) \|/gm)];
    const documented = rows.map(([, name, type]) => ({ name, type }));
    const ours = metrics.filter((metric) => !isDefaultMetric(metric)).map(({ name, type }) => ({ name, type }));
    expect(ours.length).toBeGreaterThan(15);
    expect(documented).toEqual(expect.arrayContaining(ours));
    expect(ours).toEqual(expect.arrayContaining(documented));
  });

  /** Metrics that a text names and the server does not have, so that a rule would never fire. */
  function unknownIn(text: string): string[] {
    const series = new Set(
      metrics.flatMap(({ name, type }) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
    const named = text.match(/\bgen3d_\w+/g) ?? [];
    return named.filter((name) => !series.has(name));
  }

  test('the alerts use only existing metrics', () => {
    const rules = page('alerts.yaml');
    expect(rules.match(/- alert: /g)!.length).toBeGreaterThan(8);
    expect(unknownIn(rules)).toEqual([]);
    expect(unknownIn('rate(gen3d_queue_wait_seconds[5m]) + gen3d_nothing')).toEqual([
      'gen3d_queue_wait_seconds',
      'gen3d_nothing',
    ]);
  });
});
