import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Db } from './db/open.js';

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

  readonly deliveries = new Counter({
    name: 'gen3d_webhook_deliveries_total',
    help: 'Webhook delivery attempts of this process',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  constructor(db: Db) {
    collectDefaultMetrics({ register: this.registry, prefix: 'gen3d_' });
    const { registry } = this;
    // Read when asked for: only open jobs and waiting events are counted, so these stay cheap however much is kept.
    new Gauge({
      name: 'gen3d_open_jobs',
      help: 'Jobs that are not finished',
      labelNames: ['status'],
      registers: [registry],
      async collect() {
        const rows = await db
          .selectFrom('jobs')
          .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
          .where('finished_at', 'is', null)
          .groupBy('status')
          .execute();
        this.reset();
        for (const { status, count } of rows) this.set({ status }, count);
      },
    });
    new Gauge({
      name: 'gen3d_outbox_events',
      help: 'Webhook events that wait for delivery or are dead letters',
      labelNames: ['state'],
      registers: [registry],
      async collect() {
        const count = async (isDead: boolean) => {
          const row = await db
            .selectFrom('outbox')
            .select((eb) => eb.fn.countAll<number>().as('count'))
            .where('dead_at', isDead ? 'is not' : 'is', null)
            .executeTakeFirstOrThrow();
          return row.count;
        };
        this.set({ state: 'waiting' }, await count(false));
        this.set({ state: 'dead' }, await count(true));
      },
    });
    new Gauge({
      name: 'gen3d_accounts_below_zero',
      help: 'Accounts that owe money: jobs that were running at once may spend more than was left',
      registers: [registry],
      async collect() {
        const row = await db
          .selectFrom('accounts')
          .select((eb) => eb.fn.countAll<number>().as('count'))
          .where('balance_microusd', '<', 0)
          .executeTakeFirstOrThrow();
        this.set(row.count);
      },
    });
  }
}
