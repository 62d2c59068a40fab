import { expect, test } from 'vitest';
import { sampleLatents, samplerSteps } from './sample-latents.js';

const sampler = { steps: 4, guidance: 7, timestepScale: 1000, shift: 1, seed: 0 };

test('sigma goes from 1 to 0 in equal steps', () => {
  expect(samplerSteps(sampler)).toEqual([
    { timestep: 1000, stepSize: 0.25 },
    { timestep: 750, stepSize: 0.25 },
    { timestep: 500, stepSize: 0.25 },
    { timestep: 250, stepSize: 0.25 },
  ]);
});

test('a shift of 3 moves sigma 0.75, 0.5 and 0.25 to 0.9, 0.75 and 0.5', () => {
  const steps = samplerSteps({ ...sampler, shift: 3 });
  expect(steps.map(({ timestep }) => Math.round(timestep))).toEqual([1000, 900, 750, 500]);
  expect(steps.reduce((sum, { stepSize }) => sum + stepSize, 0)).toBeCloseTo(1, 12);
});

test('a flow along straight lines ends exactly at its target', async () => {
  const noise = Float32Array.of(1, -2, 0.5);
  const target = Float32Array.of(0.25, 3, -1);
  const latents = await sampleLatents(noise, sampler, async (at, { timestep, stepSize }) =>
    // The velocity of a rectified flow toward a single target: the remaining way over the remaining time.
    at.map((value, i) => value + stepSize * ((target[i]! - value) / (timestep / 1000))),
  );
  expect([...latents]).toEqual([...target]);
});

test('progress is reported after each step, and an aborted sampler ends before the next step', async () => {
  const abort = new AbortController();
  const shares: number[] = [];
  let runs = 0;
  const run = async (latents: Float32Array) => {
    runs++;
    return latents;
  };
  const onProgress = (share: number) => {
    shares.push(share);
    if (share === 0.5) abort.abort(new Error('canceled'));
  };
  const sampling = sampleLatents(new Float32Array(2), sampler, run, { signal: abort.signal, onProgress });
  await expect(sampling).rejects.toThrow('canceled');
  expect(shares).toEqual([0.25, 0.5]);
  expect(runs).toBe(2);
});
