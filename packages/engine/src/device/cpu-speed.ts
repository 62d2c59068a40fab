import { availableParallelism } from 'node:os';
import type { StepsDecoder } from '../bundle/manifest.js';
import { probe } from './probe.js';

/** Points at which the field of a typical object is evaluated at the default resolution. */
const typicalPoints = 700_000;

/** Operations per second of one hardware thread in float32 matrix products: 135e9 were measured with AVX-512. */
const cpuFlops = 100e9;

/** Operations per second of a CPU that was not measured. */
export const assumedSpeed = (cores = availableParallelism()): number => cores * cpuFlops;

/** Computes how many operations a photo takes with a bundle of the kind `steps`. */
export const flopsOf = ({ sampler, flops }: Pick<StepsDecoder, 'sampler' | 'flops'>): number =>
  sampler.steps * flops.step + typicalPoints * flops.point;

let measured: Promise<number> | undefined;

/**
 * Measures this CPU's operations per second in a large matrix product. The first call takes half a second, in a process
 * of its own. Returns an assumed speed if that process cannot run.
 */
export function measuredSpeed(): Promise<number> {
  measured ??= probe('multiply', {}).then((probed) =>
    'result' in probed ? probed.result.flopsPerSecond : assumedSpeed(),
  );
  return measured;
}
