import { sql } from 'kysely';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Db } from './db/open.js';
import { currentTime } from './db/time.js';
import { isUnavailable } from './db/unavailable.js';
import type { RunnerNews } from './runner/messages.js';

/** What `/metrics` shows, in Prometheus' text format. One registry per server, so that two in one process do not mix. */
export class Metrics {
  readonly registry = new Registry();

  readonly requestDuration = new Histogram({
    name: 'gen3d_http_request_duration_seconds',
    help: 'Time from the request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [this.registry],
  });

  readonly jobsFinished = new Counter({
    name: 'gen3d_jobs_finished_total',
    help: 'Jobs that the runners of this process finished',
    labelNames: ['status'],
    registers: [this.registry],
  });

  readonly inferenceDuration = new Histogram({
    name: 'gen3d_inference_duration_seconds',
    help: 'Time a job took in the engine',
    buckets: [0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320],
    registers: [this.registry],
  });

  readonly stageDuration = new Histogram({
    name: 'gen3d_stage_duration_seconds',
    help: 'Time that each stage of a job took, of jobs that succeeded',
    labelNames: ['stage'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
    registers: [this.registry],
  });

  readonly deliveries = new Counter({
    name: 'gen3d_webhook_deliveries_total',
    help: 'Webhook delivery attempts of this process',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  /** Notes what a runner of this process says of its jobs. */
  noteRunnerNews(news: RunnerNews): void {
    if (news.type !== 'finished') return;
    this.jobsFinished.inc({ status: news.status });
    if (news.status !== 'SUCCEEDED') return;
    this.inferenceDuration.observe(news.inferenceMs / 1_000);
    for (const [stage, ms] of Object.entries(news.stageTimes)) this.stageDuration.observe({ stage }, ms / 1_000);
  }

  constructor(db: Db) {
    collectDefaultMetrics({ register: this.registry, prefix: 'gen3d_' });
    // Read when asked for: only open jobs and waiting events are counted, so these stay cheap however much is kept.
    new Gauge({
      name: 'gen3d_database_up',
      help: 'Whether the database answers: 1 or 0',
      registers: [this.registry],
      async collect() {
        const answer = db.selectFrom('accounts').select('id').limit(1).execute();
        this.set(await answer.then(() => 1).catch(() => 0));
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
            // What is known of the process is worth most when the database is away.
            if (!isUnavailable(error)) throw error;
            this.remove({});
          }
        },
      });
    gauge('gen3d_open_jobs', 'Jobs that are not finished', ['status'], async (open) => {
      const rows = await db
        .selectFrom('jobs')
        .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
        .where('finished_at', 'is', null)
        .groupBy('status')
        .execute();
      for (const { status, count } of rows) open.set({ status }, count);
    });
    gauge('gen3d_oldest_open_job_seconds', 'Time since the oldest open job was created', ['status'], async (oldest) => {
      const rows = await db
        .selectFrom('jobs')
        .select(['status', sql<number>`(${currentTime(db)} - min(created_at)) / 1000.0`.as('seconds')])
        .where('finished_at', 'is', null)
        .groupBy('status')
        .execute();
      for (const { status, seconds } of rows) oldest.set({ status }, seconds);
    });
    gauge(
      'gen3d_outbox_events',
      'Webhook events that wait for delivery or are dead letters',
      ['state'],
      async (events) => {
        const count = async (isDead: boolean) => {
          const row = await db
            .selectFrom('outbox')
            .select((eb) => eb.fn.countAll<number>().as('count'))
            .where('dead_at', isDead ? 'is not' : 'is', null)
            .executeTakeFirstOrThrow();
          return row.count;
        };
        events.set({ state: 'waiting' }, await count(false));
        events.set({ state: 'dead' }, await count(true));
      },
    );
    gauge(
      'gen3d_accounts_below_zero',
      'Accounts that owe money: jobs that were running at once may spend more than was left',
      [],
      async (below) => {
        const row = await db
          .selectFrom('accounts')
          .select((eb) => eb.fn.countAll<number>().as('count'))
          .where('balance_microusd', '<', 0)
          .executeTakeFirstOrThrow();
        below.set(row.count);
      },
    );
  }
}
