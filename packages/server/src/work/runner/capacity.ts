import { availableParallelism, totalmem } from 'node:os';

export interface Machine {
  readonly cores: number;
  /** Total memory of this machine or container. */
  readonly memoryBytes: number;
}

export const thisMachine = (): Machine => ({
  cores: availableParallelism(),
  // Without a limit, `constrainedMemory` is 0, undefined or more than the machine has, depending on the system and the
  // version of Node.
  memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
});

/** Peak memory of a runner with one job. */
const runnerBytes = 1.3e9;
/** Peak memory of each further job. */
export const perJobBytes = 250e6;
/** Memory that stays free for the worker with the API, the database, and the decoders. */
const reservedBytes = 1e9;
/** More would not help: the one thread that claims, stores and reports, and the one device, are then the bottleneck. */
const maxSlots = 32;

/**
 * Computes how many jobs each runner of a machine works on concurrently, as far as the memory allows: one per core, or
 * per two cores if the networks run on them too. There, a second job per two cores raises the throughput by a sixth for
 * photos with a background, but it makes each job take nearly twice as long, so an account's photo waits longer behind
 * those of others.
 */
export function slotsOf({ cores, memoryBytes }: Machine, runners: number, networksOnCpu: boolean): number {
  const further = Math.floor(((memoryBytes - reservedBytes) / runners - runnerBytes) / perJobBytes);
  return Math.max(1, Math.min(Math.floor(cores / runners / (networksOnCpu ? 2 : 1)), 1 + further, maxSlots));
}
