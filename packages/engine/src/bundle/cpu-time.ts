import { availableParallelism } from 'node:os';
import type { StepsDecoder } from './manifest.js';

/** Points at which the field of a typical object is evaluated at the default resolution. */
const typicalPoints = 700_000;

/** Operations per second of one hardware thread in float32 matrix products: 135e9 were measured with AVX-512. */
const cpuFlops = 100e9;

/** The seconds that a photo takes on this CPU with a bundle of the kind `steps`, to within a factor of two or three. */
export const cpuSeconds = (
  { sampler, flops }: Pick<StepsDecoder, 'sampler' | 'flops'>,
  cores = availableParallelism(),
): number => secondsOfFlops(sampler.steps * flops.step + typicalPoints * flops.point, cores);

export const secondsOfFlops = (flops: number, cores = availableParallelism()): number => flops / (cores * cpuFlops);
