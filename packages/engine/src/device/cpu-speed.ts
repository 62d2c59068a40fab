import { assumedSpeed } from '../bundle/cpu-time.js';
import { probe } from './probe.js';

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
