import { availableParallelism } from 'node:os';
import type { StepsDecoder } from '../bundle/manifest.js';

/** Points at which the field of a typical object is evaluated at the default resolution. */
const typicalPoints = 700_000;

/** Operations per second of one hardware thread in float32 matrix products: 135e9 were measured with AVX-512. */
const cpuFlops = 100e9;

/** Estimates the operations per second of this CPU from its number of threads, within a factor of two. */
export const assumedSpeed = (cores = availableParallelism()): number => cores * cpuFlops;

/** Computes how many operations a photo takes with a bundle of the kind `steps`. */
export const flopsOf = ({ sampler, flops }: Pick<StepsDecoder, 'sampler' | 'flops'>): number =>
  sampler.steps * flops.step + typicalPoints * flops.point;
