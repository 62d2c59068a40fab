import { ExitError } from '@gen3d/rpc';
import { expect, test, vi } from 'vitest';
import type { ClaimedJob } from '../../data/jobs/claim.js';
import { Runner } from './runner.js';
import type { ModelMaker } from './runner-protocol.js';

function openRunner(slots = 4) {
  let kill = () => {};
  const ended = new Promise<ExitError>((resolve) => {
    kill = () => resolve(new ExitError('the runner was killed', { signal: 'SIGKILL' }));
  });
  const maker: ModelMaker = { generate: () => Promise.reject(new Error('makes nothing')), ended, pid: 1, kill };
  const runner = new Runner(maker);
  runner.becomeReady({ provider: 'cpu', slots }, 'cpu');
  /** Lets the runner hold a job. Returns a function that ends that. */
  const hold = (attempt = 1) => {
    let end = () => {};
    const work = new Promise<void>((resolve) => {
      end = resolve;
    });
    const held = runner.hold({ attempt } as ClaimedJob, () => work);
    return async () => {
      end();
      await held;
    };
  };
  return { runner, hold };
}

test('a runner whose device failed while it was opened is replaced once it is ready', async () => {
  const { maker } = openRunner().runner;
  const runner = new Runner(maker);
  runner.fallBack();
  await vi.waitFor(() => expect(runner.isRetiring).toBe(true));
  expect(runner.hasEnded).toBe(false);
  runner.becomeReady({ provider: 'webgpu', slots: 1 }, 'webgpu');
  await maker.ended;
  expect(runner.free).toBe(0);
});

const gib = 1024 ** 3;
const times = { engineMs: 1_000, deviceMs: 500 };

test('a runner takes as many jobs as it has slots, and not more than keep its device busy', async () => {
  const { runner, hold } = openRunner();
  expect(runner.free).toBe(4);
  await hold()();
  runner.recordSuccess(times);
  expect(runner.free).toBe(3);
  hold();
  expect(runner.free).toBe(2);
});

test('a runner whose process has grown far beyond its size after the first job is replaced after its jobs', async () => {
  const { runner, hold } = openRunner(1);
  const end = hold();
  runner.recordSuccess({ ...times, rssBytes: gib });
  runner.recordSuccess({ ...times, rssBytes: 3 * gib });
  expect(runner.isRetiring).toBe(false);
  runner.recordSuccess({ ...times, rssBytes: 3 * gib + 1 });
  expect(runner.isRetiring).toBe(true);
  expect(runner.free).toBe(0);
  expect(runner.hasEnded).toBe(false);
  await end();
  await runner.maker.ended;
  expect(runner.hasEnded).toBe(true);
});
