import { setTimeout as pause } from 'node:timers/promises';

/** Interval at which a process looks for jobs without being woken. */
const pollMs = 1_000;

/** Waits between two searches for a job. `wake()` ends the wait early. */
export class Poll {
  #wait = new AbortController();

  /** Ends the wait, or the next one if there is none at the moment. */
  wake(): void {
    // Each call to `abort` creates an error with a stack.
    if (!this.#wait.signal.aborted) this.#wait.abort();
  }

  async wait(): Promise<void> {
    await pause(pollMs, undefined, { signal: this.#wait.signal }).catch(() => {});
    this.#wait = new AbortController();
  }
}
