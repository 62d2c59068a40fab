// A discrete-event simulation of gen3d's queue: one line of jobs, several runners, leases. The same seed prints the same
// figures; docs/operations/scaling.md quotes them. The last line compares a case with Erlang's formula.
//
//   node models/lab/queue/simulate.mjs [--seed 1] [--jobs 200000]
import { parseArgs } from 'node:util';
import TinyQueue from 'tinyqueue';
import { quantile, row } from '../../../scripts/bench/figures.mjs';
import { seededRandom } from '../random.mjs';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, jobs: { type: 'string', default: '200000' } },
});
const jobCount = Number(values.jobs);
const leaseSeconds = 30;
const maxAttempts = 3;

/** @typedef {() => number} Random uniform in [0, 1) */
/** @typedef {(random: Random, perSecond: number) => () => number} Arrivals seconds from each arrival to the next */
/** @typedef {{ arrivedAt: number, attempt: number }} Job */
/**
 * @typedef {{ time: number } & ({ type: 'arrival' | 'runner back' } | { type: 'done' | 'lease expired', job: Job })} Event
 */
/**
 * @typedef {object} Case
 * @property {number} perHour
 * @property {number} runners
 * @property {number} serviceSeconds
 * @property {Arrivals} [arrivals]
 * @property {number} [lossRate] share of the attempts in which the machine is lost
 */

/** @type {(random: Random, mean: number) => number} */
const exponential = (random, mean) => -mean * Math.log(1 - random());

/** @type {Arrivals} */
const poisson = (random, perSecond) => () => exponential(random, 1 / perSecond);

/**
 * The same average in bursts: one tenth of the time has nine tenths of the arrivals. The mean burst takes 2 minutes.
 *
 * @type {Arrivals}
 */
function bursty(random, perSecond) {
  const burst = { perSecond: 9 * perSecond, meanSeconds: 120 };
  const calm = { perSecond: perSecond / 9, meanSeconds: 1_080 };
  let phase = calm;
  let secondsLeft = exponential(random, phase.meanSeconds);
  return () => {
    let waited = 0;
    for (;;) {
      // The distribution is memoryless: a gap that ends after the phase can be drawn again in the next one.
      const gap = exponential(random, 1 / phase.perSecond);
      if (gap < secondsLeft) {
        secondsLeft -= gap;
        return waited + gap;
      }
      waited += secondsLeft;
      phase = phase === calm ? burst : calm;
      secondsLeft = exponential(random, phase.meanSeconds);
    }
  };
}

/**
 * Jobs arrive, wait in order of arrival, and take `serviceSeconds` each on one of the runners. A machine is lost at a
 * random time in `lossRate` of the attempts: its job returns to the head of the line when the lease has expired, and
 * the machine is back after `rebootSeconds`.
 *
 * @param {Case} parameters
 * @returns waits, and times from arrival to completion, in seconds; counts
 */
function simulate({ perHour, arrivals = poisson, runners, serviceSeconds, lossRate = 0 }) {
  const rebootSeconds = 120;
  const random = seededRandom(Number(values.seed));
  const nextGap = arrivals(random, perHour / 3_600);

  const events = new TinyQueue(/** @type {Event[]} */ ([]), (a, b) => a.time - b.time);
  /** @type {Job[]} */
  const waiting = [];
  let head = 0;
  /**
   * Jobs whose lease has expired. They are older than all waiting jobs, and so the first to be served.
   *
   * @type {Job[]}
   */
  const returned = [];
  let idle = runners;
  /** @type {number[]} */
  const waits = [];
  /** @type {number[]} */
  const times = [];
  let takeovers = 0;
  let givenUp = 0;
  let longestLine = 0;
  let arrived = 0;

  /** @param {number} time */
  const scheduleArrival = (time) => {
    if (arrived === jobCount) return;
    arrived++;
    events.push({ time: time + nextGap(), type: 'arrival' });
  };
  /** @param {number} time */
  const serve = (time) => {
    while (idle > 0 && (returned.length > 0 || head < waiting.length)) {
      const job = returned.shift() ?? waiting[head++];
      idle--;
      job.attempt++;
      if (job.attempt === 1) waits.push(time - job.arrivedAt);
      if (random() < lossRate) {
        const lostAt = time + random() * serviceSeconds;
        // Leases are renewed every quarter of their duration, so between three quarters and all of it is left.
        events.push({ time: lostAt + leaseSeconds * (0.75 + 0.25 * random()), type: 'lease expired', job });
        events.push({ time: lostAt + rebootSeconds, type: 'runner back' });
      } else {
        events.push({ time: time + serviceSeconds, type: 'done', job });
      }
    }
    longestLine = Math.max(longestLine, waiting.length - head + returned.length);
  };

  scheduleArrival(0);
  for (let event = events.pop(); event; event = events.pop()) {
    const { time } = event;
    if (event.type === 'arrival') {
      waiting.push({ arrivedAt: time, attempt: 0 });
      scheduleArrival(time);
    } else if (event.type === 'lease expired') {
      takeovers++;
      if (event.job.attempt < maxAttempts) returned.push(event.job);
      else givenUp++;
    } else {
      idle++;
      if (event.type === 'done') times.push(time - event.job.arrivedAt);
    }
    serve(time);
  }
  return { waits, times, takeovers, givenUp, longestLine };
}

/**
 * Erlang C: the share of jobs that wait, with exponential service times.
 *
 * @param {number} runners
 * @param {number} load offered, in runners' worth of work
 */
function erlangC(runners, load) {
  let inverse = 1; // of Erlang B, by its recursion
  for (let k = 1; k <= runners; k++) inverse = 1 + (k / load) * inverse;
  const blocked = 1 / inverse;
  return blocked / (1 - (load / runners) * (1 - blocked));
}

/** @param {number} value */
const whole = (value) => Math.round(value).toLocaleString('en');

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 600) return `${whole(seconds)} s`;
  return seconds < 36_000 ? `${whole(seconds / 60)} min` : `${whole(seconds / 3_600)} h`;
}

/**
 * @param {string} title
 * @param {string} note
 * @param {readonly Case[]} cases
 */
function table(title, note, cases) {
  console.log(`\n### ${title}\n\n${note}\n`);
  row(
    ...['jobs an hour', 'arrivals', 'seconds a job', 'runners', 'busy', 'machines lost', 'waits p50', 'p95', 'p99'],
    ...['photo to model p99', 'longest line', 'taken over', 'given up'],
  );
  row(...Array(13).fill('--:'));
  for (const one of cases) {
    const { waits, times, takeovers, givenUp, longestLine } = simulate(one);
    const busy = (one.perHour * one.serviceSeconds) / 3_600 / one.runners;
    row(
      whole(one.perHour),
      one.arrivals === bursty ? 'in bursts' : 'even',
      one.serviceSeconds,
      whole(one.runners),
      `${whole(100 * busy)} %`,
      one.lossRate ? `1 in ${whole(1 / one.lossRate)} attempts` : 'none',
      ...[0.5, 0.95, 0.99].map((share) => duration(quantile(waits, share))),
      duration(quantile(times, 0.99)),
      ...[longestLine, takeovers, givenUp].map(whole),
    );
  }
}

console.log(
  `${whole(jobCount)} jobs a row, seed ${values.seed}, leases of ${leaseSeconds} s, at most ${maxAttempts} attempts`,
);

table(
  'Even and in bursts',
  'Runners are busy 70 % of the time. In bursts, one tenth of the time has nine tenths of the jobs; the mean burst takes 2 minutes.',
  [10, 1_000, 100_000].flatMap((perHour) =>
    [5, 1].flatMap((serviceSeconds) => {
      const runners = Math.max(1, Math.ceil((perHour * serviceSeconds) / 3_600 / 0.7));
      return [poisson, bursty].map((arrivals) => ({ perHour, serviceSeconds, arrivals, runners }));
    }),
  ),
);
table(
  'Runners that bursts require',
  '1,000 jobs an hour in the same bursts, 5 s each.',
  [2, 3, 5, 8, 13].map((runners) => ({ perHour: 1_000, serviceSeconds: 5, arrivals: bursty, runners })),
);
table(
  'Lost machines',
  'A machine that is lost during a job is back after 2 minutes. Its job is taken over when the lease has expired.',
  [0, 0.001, 0.01, 0.05].map((lossRate) => ({ perHour: 1_000, serviceSeconds: 5, runners: 3, lossRate })),
);

/** @typedef {{ name: string, jobs: number, after: number }} Batch `after`: number of jobs started before it arrives */

/**
 * Serves batches of several accounts on one runner, by the rule of `turn` in the server's queue or first in, first out.
 *
 * @param {readonly Batch[]} batches
 * @param {boolean} inTurns
 * @returns by account: the number of jobs started from its arrival up to and including its last job
 */
function serveBatches(batches, inTurns) {
  /** @type {Map<string, number>} */
  const served = new Map();
  /** @type {Array<{ name: string, arrivedAt: number, turn: number }>} */
  const waiting = [];
  /** @param {string} name */
  const turnOf = (name) => {
    const own = Math.max(0, ...waiting.filter((job) => job.name === name).map(({ turn }) => turn));
    const present = Math.min(Math.max(0, ...served.values()), ...waiting.map((job) => job.turn));
    return Math.max(own + 1, (served.get(name) ?? 0) + 1, present);
  };
  /** @type {Map<string, number>} */
  const lastWaits = new Map();
  for (let started = 0; ; started++) {
    for (const { name, jobs, after } of batches.filter((batch) => batch.after === started)) {
      for (let n = 0; n < jobs; n++) waiting.push({ name, arrivedAt: after, turn: inTurns ? turnOf(name) : 0 });
    }
    // The sort is stable: first in, first out within a turn.
    waiting.sort((a, b) => a.turn - b.turn);
    const job = waiting.shift();
    if (!job) return lastWaits;
    served.set(job.name, Math.max(served.get(job.name) ?? 0, job.turn));
    lastWaits.set(job.name, started - job.arrivedAt + 1);
  }
}

const batches = [
  { name: 'A', jobs: 1_000, after: 0 },
  { name: 'B', jobs: 1, after: 10 },
  { name: 'C', jobs: 20, after: 10 },
];
console.log('\n### Accounts take turns\n\nOne runner. B and C arrive when 10 of the jobs of A have started.\n');
row('account', 'jobs', 'jobs started up to its last, first in first out', 'in turns');
row('---', '--:', '--:', '--:');
const [fifo, inTurns] = [serveBatches(batches, false), serveBatches(batches, true)];
for (const { name, jobs } of batches) row(name, whole(jobs), whole(fifo.get(name) ?? 0), whole(inTurns.get(name) ?? 0));

const load = 1.4;
const { waits } = simulate({ perHour: 1_008, serviceSeconds: 5, runners: 2 });
const waiting = waits.filter((wait) => wait > 0).length / waits.length;
console.log(
  `\nCheck: with 2 runners that are busy 70 % of the time, ${whole(100 * waiting)} % of the jobs wait. ` +
    `Erlang C gives ${whole(100 * erlangC(2, load))} %, for exponential service times instead of gen3d's constant ones.`,
);
