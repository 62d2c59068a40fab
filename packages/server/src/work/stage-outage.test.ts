import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silent } from '../../test/kit.js';
import { TemporaryFailure } from './stage-failures.js';
import { maxOutageMs, StageOutage } from './stage-outage.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const newOutage = () => new StageOutage('inference', silent);

/** Returns how many seconds pass until a job may be claimed. */
async function pauseOf(outage: StageOutage, probe?: () => Promise<Error | undefined>): Promise<number> {
  for (let seconds = 0; ; seconds++) {
    if (outage.mayClaim(probe)) return seconds;
    await vi.advanceTimersByTimeAsync(1_000);
  }
}

test('after each failed try the pause doubles, up to a minute, and after a success it starts over', async () => {
  const outage = newOutage();
  const pauses: number[] = [];
  for (let tries = 0; tries < 7; tries++) {
    outage.failed('no disk space left');
    pauses.push(await pauseOf(outage));
    outage.claimed();
  }
  expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60]);
  outage.succeeded();
  outage.failed('no disk space left');
  expect(await pauseOf(outage)).toBe(2);
});

test('a pause is over for one job, and the failures of jobs that started earlier do not prolong it', async () => {
  const outage = newOutage();
  outage.failed('no disk space left');
  outage.failed('no disk space left');
  expect(await pauseOf(outage)).toBe(2);
  outage.claimed();
  // It may end without showing anything, as when it is canceled.
  expect(await pauseOf(outage)).toBe(4);
  outage.succeeded();
  expect(outage.mayClaim()).toBe(true);
});

test('a failed probe prolongs the outage without a job, for at most a day', async () => {
  const outage = newOutage();
  const start = Date.now();
  let probes = 0;
  const probe = async () => {
    probes++;
    return new TemporaryFailure('the server is down');
  };
  outage.failed('the server is down');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(outage.pausedSince).toBe(start);
  const seconds = await pauseOf(outage, probe);
  expect(seconds * 1_000).toBeGreaterThan(maxOutageMs - 60_000);
  expect(seconds * 1_000).toBeLessThan(maxOutageMs + 60_000);
  expect(probes).toBeGreaterThan(1_400);
  expect(probes).toBeLessThan(1_450);
});

test.each([undefined, new Error('HTTP 500, no photo')])(
  'once a probe reaches the server the stage is no longer paused, also while no job arrives (%s)',
  async (answer) => {
    const outage = newOutage();
    outage.failed('the server is down');
    expect(await pauseOf(outage, async () => answer)).toBe(3);
    expect(outage.pausedSince).toBeUndefined();
  },
);
