import type { StepsDecoder } from '../bundle/manifest.js';
import type { EncodeOptions } from '../field/decoder-kind.js';

/** The numbers of one step of the sampler, as the step graph takes them. */
export interface SamplerStep {
  readonly timestep: number;
  readonly stepSize: number;
}

/**
 * The steps of a rectified flow's Euler sampler. Sigma, the share of noise, goes from 1 to 0 in equal steps. A shift s
 * above 1 moves it to s·sigma / (1 + (s - 1)·sigma), which has more steps at high noise.
 *
 * @see Esser et al., "Scaling Rectified Flow Transformers for High-Resolution Image Synthesis", 2024, section 5.3.2
 */
export function samplerSteps({ steps, shift, timestepScale }: StepsDecoder['sampler']): SamplerStep[] {
  const sigmaOf = (step: number) => {
    const sigma = 1 - step / steps;
    return (shift * sigma) / (1 + (shift - 1) * sigma);
  };
  return Array.from({ length: steps }, (_, i) => ({
    timestep: timestepScale * sigmaOf(i),
    stepSize: sigmaOf(i) - sigmaOf(i + 1),
  }));
}

/**
 * Runs all steps of the sampler.
 *
 * @param noise the latents at sigma 1
 * @param run computes the latents after a step
 * @throws the signal's reason, once aborted: between two steps
 */
export async function sampleLatents(
  noise: Float32Array,
  sampler: StepsDecoder['sampler'],
  run: (latents: Float32Array, step: SamplerStep) => Promise<Float32Array>,
  { signal, onProgress }: EncodeOptions = {},
): Promise<Float32Array> {
  let latents = noise;
  const steps = samplerSteps(sampler);
  for (const [i, step] of steps.entries()) {
    signal?.throwIfAborted();
    latents = await run(latents, step);
    onProgress?.((i + 1) / steps.length);
  }
  return latents;
}
