import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { RequestHandler } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { cached } from '../base/cached.js';
import { version } from '../base/version.js';
import { accountsBelowZero } from '../data/accounts/accounts.js';
import type { Db } from '../data/db/database.js';
import { ping } from '../data/db/open.js';
import { currentTime } from '../data/db/time.js';
import { isUnavailable } from '../data/db/unavailable.js';
import { openJobsByStatus } from '../data/jobs/counts.js';
import type { StageTimes } from '../data/jobs/stage-times.js';
import { liveRunners } from '../data/runners/registry.js';
import { countDeliveries } from '../data/webhooks/deliveries.js';
import type { JobObserver } from '../work/active-jobs.js';

/** Serves `GET /metrics`, in Prometheus' text format. */
export function metricsText(metrics: Metrics): RequestHandler {
  return async (_request, response) => {
    response.type(metrics.registry.contentType).send(await metrics.text());
  };
}

/** The methods of our routes, and those that browsers and proxies send of their own accord. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

/** Prometheus usually asks every 15 s. */
const countsKeptMs = 5_000;

/** Collects the metrics of a server. Each server has its own registry, so that two in one process do not mix. */
export class Metrics implements JobObserver {
  readonly registry = new Registry();

  readonly #requestDuration = new Histogram({
    name: 'gen3d_http_request_duration_seconds',
    help: 'Time from the request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [this.registry],
  });

  readonly jobsFinished = new Counter({
    name: 'gen3d_jobs_finished_total',
    help: 'Jobs that this machine finished',
    labelNames: ['status'],
    registers: [this.registry],
  });

  readonly inferenceDuration = new Histogram({
    name: 'gen3d_inference_duration_seconds',
    help: 'Time a job took in the engine, without waiting for the device',
    buckets: [0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320],
    registers: [this.registry],
  });

  readonly stageDuration = new Histogram({
    name: 'gen3d_stage_duration_seconds',
    help: 'Time that each stage of a job took, for jobs that succeeded',
    labelNames: ['stage'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
    registers: [this.registry],
  });

  readonly queueWait = new Histogram({
    name: 'gen3d_queue_wait_seconds',
    help: 'Time from the creation of a job to the beginning of its first inference',
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600],
    registers: [this.registry],
  });

  readonly leaseTakeovers = new Counter({
    name: 'gen3d_lease_takeovers_total',
    help: 'Jobs that this process took over from another one whose lease had expired',
    registers: [this.registry],
  });

  readonly runnerCrashes = new Counter({
    name: 'gen3d_runner_crashes_total',
    help: 'Runner processes of this process that crashed, or were killed because they hung',
    labelNames: ['how'],
    registers: [this.registry],
  });

  readonly deliveries = new Counter({
    name: 'gen3d_webhook_deliveries_total',
    help: 'Webhook delivery attempts of this process',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  /**
   * Records the time of a request. All labels have few values: some 60 routes, and a few statuses of each. Clients
   * choose the method, so only known methods are recorded by name.
   */
  recordRequest({ method, ...labels }: { method: string; route: string; status: number }, seconds: number): void {
    this.#requestDuration.observe({ method: methods.has(method) ? method : 'other', ...labels }, seconds);
  }

  claimed(takenOver: boolean): void {
    if (takenOver) this.leaseTakeovers.inc();
  }

  waited(ms: number): void {
    this.queueWait.observe(ms / 1_000);
  }

  succeeded(inferenceMs: number, stageTimes: StageTimes): void {
    this.jobsFinished.inc({ status: 'SUCCEEDED' });
    this.inferenceDuration.observe(inferenceMs / 1_000);
    for (const [stage, ms] of Object.entries(stageTimes)) this.stageDuration.observe({ stage }, ms / 1_000);
  }

  failed(): void {
    this.jobsFinished.inc({ status: 'FAILED' });
  }

  /** Writes the text of `/metrics`, which is cached for a second because some of it is counted in the database. */
  readonly text = cached(() => this.registry.metrics());

  /** Measures the disk with the folder `dataDir`. */
  constructor(db: Db, dataDir: string) {
    collectDefaultMetrics({ register: this.registry, prefix: 'gen3d_' });
    const build = new Gauge({
      name: 'gen3d_build_info',
      help: 'Always 1; the labels describe the build',
      labelNames: ['version', 'node'],
      registers: [this.registry],
    });
    build.set({ version, node: process.version }, 1);
    // A rate needs a counter that exists before its first event.
    for (const status of ['SUCCEEDED', 'FAILED'] as const) this.jobsFinished.inc({ status }, 0);
    for (const outcome of ['delivered', 'failed', 'dead', 'dropped'] as const) this.deliveries.inc({ outcome }, 0);
    for (const how of ['crashed', 'hung'] as const) this.runnerCrashes.inc({ how }, 0);
    const disk = (name: string, help: string, bytes: (stats: StatsFs) => number) =>
      new Gauge({
        name,
        help,
        registers: [this.registry],
        async collect() {
          this.set(bytes(await statfs(dataDir)));
        },
      });
    disk(
      'gen3d_data_dir_size_bytes',
      'Size of the disk that holds the data directory',
      ({ blocks, bsize }) => blocks * bsize,
    );
    disk(
      'gen3d_data_dir_free_bytes',
      'Free space on the disk that holds the data directory, for users other than root',
      ({ bavail, bsize }) => bavail * bsize,
    );
    this.#countInDatabase(db);
  }

  /** Each figure is read on request, from an index that contains only the counted rows. */
  #countInDatabase(db: Db): void {
    new Gauge({
      name: 'gen3d_database_up',
      help: 'Whether the database responds: 1 or 0',
      registers: [this.registry],
      async collect() {
        this.set(Number(await ping(db).catch(() => false)));
      },
    });
    const gauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => Promise<void>) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers: [this.registry],
        async collect() {
          this.reset();
          try {
            await read(this);
          } catch (error) {
            // The metrics of the process matter most when the database is unavailable.
            if (!isUnavailable(error)) throw error;
            this.remove({});
          }
        },
      });
    // Anybody may ask for the metrics, and these read a row for each open job or waiting event.
    const openJobs = cached(() => openJobsByStatus(db), countsKeptMs);
    const deliveries = cached(() => countDeliveries(db), countsKeptMs);
    gauge('gen3d_open_jobs', 'Jobs that are not finished', ['status'], async (open) => {
      for (const { status, count } of await openJobs()) open.set({ status }, count);
    });
    gauge('gen3d_oldest_open_job_seconds', 'Time since the oldest open job was created', ['status'], async (oldest) => {
      for (const { status, seconds } of await openJobs()) oldest.set({ status }, seconds);
    });
    gauge(
      'gen3d_runners',
      'Active runners of all machines: busy with an inference, idle, or paused by an outage of their machine',
      ['device', 'serving_instance', 'state'],
      async (runners) => {
        for (const { device, instance, job_id, paused_since } of await liveRunners(db, currentTime(db))) {
          const state = job_id === null ? 'idle' : 'busy';
          runners.inc({ device, serving_instance: instance, state: paused_since === null ? state : 'paused' });
        }
      },
    );
    gauge(
      'gen3d_outbox_events',
      'Webhook events that wait for delivery or are dead letters',
      ['state'],
      async (events) => {
        const { waiting, dead } = await deliveries();
        events.set({ state: 'waiting' }, waiting);
        events.set({ state: 'dead' }, dead);
      },
    );
    gauge(
      'gen3d_accounts_below_zero',
      'Accounts with a negative balance: jobs that run concurrently may spend more than is left',
      [],
      async (below) => {
        below.set(await accountsBelowZero(db));
      },
    );
  }
}
