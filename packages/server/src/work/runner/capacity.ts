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
/** Memory that stays free for the API, the database and the preparer with its decoders. */
const reservedBytes = 1e9;
/** Beyond that, the one thread that claims, stores and reports, and the one device, are the bottleneck. */
const maxSlots = 32;

/** How many jobs each of the runners of a machine works on concurrently: one per core, as far as the memory allows. */
export function slotsOf({ cores, memoryBytes }: Machine, runners: number): number {
  const further = Math.floor(((memoryBytes - reservedBytes) / runners - runnerBytes) / perJobBytes);
  return Math.max(1, Math.min(Math.floor(cores / runners), 1 + further, maxSlots));
}
