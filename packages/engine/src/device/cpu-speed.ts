import { assumedSpeed } from '../bundle/cpu-time.js';
import { probe } from './probe.js';

let measured: Promise<number> | undefined;

/**
 * The operations per second of this CPU in a large matrix product. The first call measures for half a second, in a
 * process of its own. Returns the assumed speed where that process cannot run.
 */
export function measuredSpeed(): Promise<number> {
  measured ??= probe('multiply', {}).then((probed) =>
    'result' in probed ? probed.result.flopsPerSecond : assumedSpeed(),
  );
  return measured;
}
