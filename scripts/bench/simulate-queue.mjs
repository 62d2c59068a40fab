// A discrete-event simulation of gen3d's queue: one line of jobs, k runners, leases. The same seed prints the same numbers;
// docs/operations/scaling.md quotes them. Checked against Erlang's formula for what that covers.
//
//   node scripts/bench/simulate-queue.mjs [--seed 1] [--jobs 200000]
import { parseArgs } from 'node:util';
import TinyQueue from 'tinyqueue';
import { seededRandom } from '../quality/random.mjs';
import { quantile, row } from './figures.mjs';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, jobs: { type: 'string', default: '200000' } },
});
const jobCount = Number(values.jobs);
const leaseSeconds = 30;
const maxAttempts = 3;

const exponential = (random, mean) => -mean * Math.log(1 - random());

/** Seconds between arrivals, at `perSecond` on average. */
const poisson = (random, perSecond) => () => exponential(random, 1 / perSecond);

/** The same average, in bursts: a tenth of the time at nine tenths of all arrivals. Bursts last 2 minutes on average. */
function bursty(random, perSecond) {
  const rates = { burst: 9 * perSecond, calm: perSecond / 9 };
  const lasts = { burst: 120, calm: 1_080 };
  let state = 'calm';
  let left = exponential(random, lasts.calm);
  return () => {
    let waited = 0;
    for (;;) {
      // Memoryless, so what is drawn beyond the end of a state may be drawn anew in the next.
      const next = exponential(random, 1 / rates[state]);
      if (next < left) {
        left -= next;
        return waited + next;
      }
      waited += left;
      state = state === 'calm' ? 'burst' : 'calm';
      left = exponential(random, lasts[state]);
    }
  };
}

/**
 * Jobs arrive, wait in the order of their arrival, and take `serviceSeconds` each on one of `runners`. A machine is lost in
 * one of `1 / lossRate` attempts, somewhere in it: the job goes back to the head of the line when its lease has run out, and
 * the machine is back after `rebootSeconds`.
 *
 * Returns waits and times to the end in seconds, and counts.
 */
function simulate({ perHour, arrivals = poisson, runners, serviceSeconds, lossRate = 0, rebootSeconds = 120, seed }) {
  const random = seededRandom(seed);
  const nextGap = arrivals(random, perHour / 3_600);
  const agenda = new TinyQueue([], (a, b) => a.time - b.time);
  const waiting = [];
  let head = 0;
  /** Taken over: older than all that wait, so first. */
  const returned = [];
  let idle = runners;
  const waits = [];
  const times = [];
  let takeovers = 0;
  let givenUp = 0;
  let longestLine = 0;
  let arrived = 0;

  const arrive = (time) => {
    if (arrived === jobCount) return;
    arrived += 1;
    agenda.push({ time: time + nextGap(), type: 'arrival' });
  };
  const serve = (time) => {
    while (idle > 0 && (returned.length > 0 || head < waiting.length)) {
      const job = returned.shift() ?? waiting[head++];
      idle -= 1;
      job.attempt += 1;
      if (job.attempt === 1) waits.push(time - job.arrivedAt);
      if (random() < lossRate) {
        const diedAt = time + random() * serviceSeconds;
        // Renewed every quarter of a lease, so it has between three quarters and all of it left.
        agenda.push({ time: diedAt + leaseSeconds * (0.75 + 0.25 * random()), type: 'lease over', job });
        agenda.push({ time: diedAt + rebootSeconds, type: 'runner' });
      } else {
        agenda.push({ time: time + serviceSeconds, type: 'done', job });
      }
    }
    longestLine = Math.max(longestLine, waiting.length - head + returned.length);
  };

  arrive(0);
  while (agenda.length > 0) {
    const { time, type, job } = agenda.pop();
    if (type === 'arrival') {
      waiting.push({ arrivedAt: time, attempt: 0 });
      arrive(time);
    } else if (type === 'lease over') {
      takeovers += 1;
      if (job.attempt < maxAttempts) returned.push(job);
      else givenUp += 1;
    } else {
      idle += 1;
      if (type === 'done') times.push(time - job.arrivedAt);
    }
    serve(time);
  }
  return { waits, times, takeovers, givenUp, longestLine };
}

/** Erlang C: the share of jobs that wait where `runners` are offered `load` runners' worth of work; exponential service. */
function erlangC(runners, load) {
  let inverse = 1; // of Erlang B, by its recursion
  for (let k = 1; k <= runners; k += 1) inverse = 1 + (k / load) * inverse;
  const blocked = 1 / inverse;
  return blocked / (1 - (load / runners) * (1 - blocked));
}

const whole = (value) => Math.round(value).toLocaleString('en');
const span = (s) =>
  s < 10
    ? `${s.toFixed(1)} s`
    : s < 600
      ? `${whole(s)} s`
      : s < 36_000
        ? `${whole(s / 60)} min`
        : `${whole(s / 3_600)} h`;

/** Runners for an hour's work at this share of their time. */
const runnersFor = (perHour, serviceSeconds, busy) => Math.max(1, Math.ceil((perHour * serviceSeconds) / 3_600 / busy));

function table(title, note, cases) {
  console.log(`\n### ${title}\n\n${note}\n`);
  row(
    'jobs an hour',
    'arrivals',
    'seconds a job',
    'runners',
    'busy',
    'machines lost',
    'waits p50',
    'p95',
    'p99',
    'photo to model p99',
    'longest line',
    'taken over',
    'given up',
  );
  row(...Array(13).fill('--:'));
  for (const one of cases) {
    const { waits, times, takeovers, givenUp, longestLine } = simulate({ ...one, seed: Number(values.seed) });
    const busy = (one.perHour * one.serviceSeconds) / 3_600 / one.runners;
    row(
      whole(one.perHour),
      one.arrivals === bursty ? 'in bursts' : 'even',
      one.serviceSeconds,
      whole(one.runners),
      `${whole(100 * busy)} %`,
      one.lossRate ? `1 in ${whole(1 / one.lossRate)} attempts` : 'none',
      span(quantile(waits, 0.5)),
      span(quantile(waits, 0.95)),
      span(quantile(waits, 0.99)),
      span(quantile(times, 0.99)),
      whole(longestLine),
      whole(takeovers),
      whole(givenUp),
    );
  }
}

console.log(
  `${whole(jobCount)} jobs a row, seed ${values.seed}, leases of ${leaseSeconds} s, at most ${maxAttempts} attempts`,
);

const services = [5, 1];
table(
  'Even and in bursts',
  'Runners for 70 % of their time; in bursts, a tenth of the time brings nine tenths of the jobs, on average for 2 minutes.',
  [10, 1_000, 100_000].flatMap((perHour) =>
    services.flatMap((serviceSeconds) =>
      [poisson, bursty].map((arrivals) => ({
        perHour,
        serviceSeconds,
        arrivals,
        runners: runnersFor(perHour, serviceSeconds, 0.7),
      })),
    ),
  ),
);
table(
  'How many runners bursts need',
  '1,000 jobs an hour in the same bursts, 5 s each.',
  [2, 3, 5, 8, 13].map((runners) => ({ perHour: 1_000, serviceSeconds: 5, arrivals: bursty, runners })),
);
table(
  'Machines that are lost',
  'A machine lost in the middle of a job is back after 2 minutes; its job is taken over when the lease has run out.',
  [0, 0.001, 0.01, 0.05].map((lossRate) => ({ perHour: 1_000, serviceSeconds: 5, runners: 3, lossRate })),
);

/**
 * Batches of several accounts on one runner, by the rule of packages/server/src/data/jobs/turn.ts or first in first out.
 * Returns by account when its last job has started, in jobs from its arrival.
 */
function serveBatches(batches, fair) {
  const served = new Map();
  const waiting = [];
  const turnOf = (name) => {
    const own = Math.max(0, ...waiting.filter((job) => job.name === name).map(({ turn }) => turn));
    const present = Math.min(Math.max(0, ...served.values()), ...waiting.map((job) => job.turn));
    return Math.max(own + 1, (served.get(name) ?? 0) + 1, present);
  };
  const lastWaits = new Map();
  for (let started = 0; ; started += 1) {
    for (const { name, jobs, after } of batches.filter((batch) => batch.after === started)) {
      for (let job = 0; job < jobs; job += 1) waiting.push({ name, arrivedAt: after, turn: fair ? turnOf(name) : 0 });
    }
    // Stable, so first in first out within a turn.
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
for (const { name, jobs } of batches) row(name, whole(jobs), whole(fifo.get(name)), whole(inTurns.get(name)));

const load = 1.4;
const { waits } = simulate({ perHour: 1_008, serviceSeconds: 5, runners: 2, seed: Number(values.seed) });
const waiting = waits.filter((wait) => wait > 0).length / waits.length;
console.log(
  `\nA check: of jobs for 2 runners that are busy 70 % of their time, ${whole(100 * waiting)} % wait here; Erlang C, whose jobs ` +
    `vary in length as gen3d's do not, says ${whole(100 * erlangC(2, load))} %.`,
);
