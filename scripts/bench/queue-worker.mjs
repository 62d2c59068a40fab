// One worker of `npm run bench queue`: SYSTEM PLACE CODE SECONDS. Says that it is ready, works for that long when it is
// told to, and says how many jobs it has finished and how long a claim took it.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';

const [system, place, code, seconds] = process.argv.slice(2);
/** Not counted: connections are made and code is compiled meanwhile. */
const warmUpMs = 1_000;
/** Stands for everything that is not the database. */
const success = { inferenceMs: 5_000, instance: 'cpu', rateUsdPerSecond: 0.002 };

process.on('disconnect', () => process.exit());

/** Counts what happens between the warm-up and the end. */
class Count {
  #startMs = performance.now() + warmUpMs;
  #endMs = this.#startMs + 1_000 * Number(seconds);
  #claims = [];
  #cpu;
  jobs = 0;

  get over() {
    return performance.now() >= this.#endMs;
  }

  get #counts() {
    return performance.now() >= this.#startMs && !this.over;
  }

  claimed(ms) {
    if (this.#counts) this.#cpu ??= process.cpuUsage();
    if (this.#counts) this.#claims.push(ms);
  }

  finished() {
    if (this.#counts) this.jobs += 1;
  }

  result(empty) {
    const { user, system } = process.cpuUsage(this.#cpu);
    return { jobs: this.jobs, claimsMs: this.#claims, cpuMs: (user + system) / 1_000, empty };
  }
}

async function openOurs() {
  const load = (name) => import(pathToFileURL(join(code, `${name}.js`)));
  const [{ claim }, { succeed }, { openDatabase }, { currentTime }] = await Promise.all(
    ['claim', 'lifecycle', 'open', 'time'].map(load),
  );
  // As many connections as a runner has.
  const db = openDatabase(place, { connections: 3 });
  const runner = `worker-${process.pid}`;
  return async () => {
    const count = new Count();
    while (!count.over) {
      const asked = performance.now();
      const job = await claim(db, { runner, now: currentTime(db), leaseMs: 30_000 });
      if (!job) return count.result(true);
      count.claimed(performance.now() - asked);
      const keys = { modelKey: `${job.id}/model.glb`, thumbnailKey: `${job.id}/thumbnail.jpg` };
      await succeed(db, job.lease, { ...keys, ...success }, currentTime(db));
      count.finished();
    }
    return count.result(false);
  };
}

async function openGraphile() {
  const { EventEmitter } = await import('node:events');
  const { Logger, run } = await import('graphile-worker');
  return async () => {
    const events = new EventEmitter();
    const count = new Count();
    let asked = 0;
    let empty = false;
    events.on('worker:getJob:start', () => (asked = performance.now()));
    events.on('job:start', () => count.claimed(performance.now() - asked));
    events.on('job:complete', () => count.finished());
    events.on('worker:getJob:empty', () => (empty = !count.over));
    const runner = await run({
      connectionString: place,
      concurrency: 1,
      maxPoolSize: 3,
      noHandleSignals: true,
      logger: new Logger(() => () => {}),
      events,
      taskList: { noop: async () => {} },
    });
    while (!count.over && !empty) await new Promise((resolve) => setTimeout(resolve, 20));
    await runner.stop();
    return count.result(empty);
  };
}

const work = await (system === 'graphile' ? openGraphile() : openOurs());
process.once('message', async () => process.send(await work()));
process.send({ ready: true });
