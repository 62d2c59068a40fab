import { setPriority } from 'node:os';

/**
 * Gives other threads and processes of the machine precedence, because a pool may use every core, and an API on the
 * same machine must still respond quickly. On Linux, this lowers the priority of the calling thread and of the threads
 * it starts.
 */
export function lowerPriority(): void {
  if (process.platform !== 'win32') setPriority(10);
}
