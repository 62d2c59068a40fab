import { setPriority } from 'node:os';

/**
 * Lets the other threads and processes of the machine go first: a pool may use every core, and an API on the same machine
 * must still respond quickly. On Linux this lowers the priority of the calling thread and of those it starts.
 */
export function lowerPriority(): void {
  if (process.platform !== 'win32') setPriority(10);
}
