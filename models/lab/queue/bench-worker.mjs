// One worker process of `node models/lab/bench.mjs queue`: node bench-worker.mjs SYSTEM LOCATION CODE SECONDS
// Sends { ready } once it is connected. On any message it works for that time, then sends the number of finished jobs
// and the times of its claims.
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [system, location, code, seconds] = process.argv.slice(2);
/** Not counted: connections are opened and code is compiled in this time. */
const warmUpMs = 1_000;
/** Stands for everything other than the database. */
const success = { inferenceMs: 5_000, instance: 'cpu', rateUsdPerSecond: 0.002 };

process.on('disconnect', () => process.exit());

/** @typedef {{ jobs: number, claimsMs: number[], cpuMs: number, empty: boolean }} Result `empty`: the queue ran out */

/** Counts from the end of the warm-up. */
class Counter {
  #startMs = performance.now() + warmUpMs;
  #endMs = this.#startMs + 1_000 * Number(seconds);
  /** @type {number[]} */
  #claims = [];
  /** @type {NodeJS.CpuUsage | undefined} */
  #cpu;
  #jobs = 0;

  get isOver() {
    return performance.now() >= this.#endMs;
  }

  get #isCounting() {
    return performance.now() >= this.#startMs && !this.isOver;
  }

  /** @param {number} ms */
  claimed(ms) {
    if (!this.#isCounting) return;
    this.#cpu ??= process.cpuUsage();
    this.#claims.push(ms);
  }

  finished() {
    if (this.#isCounting) this.#jobs++;
  }

  /**
   * @param {boolean} empty
   * @returns {Result}
   */
  result(empty) {
    const { user, system } = process.cpuUsage(this.#cpu);
    return { jobs: this.#jobs, claimsMs: this.#claims, cpuMs: (user + system) / 1_000, empty };
  }
}

async function openGen3d() {
  /** @param {string} name */
  const load = (name) => import(pathToFileURL(join(code, `${name}.js`)).href);
  const [{ claim }, { succeed }, { openDatabase }, { currentTime }] = await Promise.all(
    ['claim', 'lifecycle', 'open', 'time'].map(load),
  );
  // As many connections as a runner has.
  const db = openDatabase(location, { connections: 3 });
  const runner = `worker-${process.pid}`;
  return async () => {
    const counter = new Counter();
    while (!counter.isOver) {
      const startedAt = performance.now();
      const job = await claim(db, { runner, now: currentTime(db), leaseMs: 30_000 });
      if (!job) return counter.result(true);
      counter.claimed(performance.now() - startedAt);
      const keys = { modelKey: `${job.id}/model.glb`, thumbnailKey: `${job.id}/thumbnail.jpg` };
      await succeed(db, job.lease, { ...keys, ...success }, currentTime(db));
      counter.finished();
    }
    return counter.result(false);
  };
}

async function openGraphile() {
  const { Logger, run } = await import('graphile-worker');
  return async () => {
    const counter = new Counter();
    /** @type {import('graphile-worker').WorkerEvents} */
    const events = new EventEmitter();
    let startedAt = 0;
    let empty = false;
    events.on('worker:getJob:start', () => {
      startedAt = performance.now();
    });
    events.on('job:start', () => counter.claimed(performance.now() - startedAt));
    events.on('job:complete', () => counter.finished());
    events.on('worker:getJob:empty', () => {
      empty = !counter.isOver;
    });
    const runner = await run({
      connectionString: location,
      concurrency: 1,
      maxPoolSize: 3,
      noHandleSignals: true,
      logger: new Logger(() => () => {}),
      events,
      taskList: { noop: async () => {} },
    });
    while (!counter.isOver && !empty) await sleep(20);
    await runner.stop();
    return counter.result(empty);
  };
}

const work = await (system === 'graphile' ? openGraphile() : openGen3d());
process.once('message', async () => process.send?.(await work()));
process.send?.({ ready: true });
