/** Interval at which a process looks for jobs without being woken. */
const pollMs = 1_000;

/** Waits between two searches for a job. `wake()` ends the wait early. */
export class Poll {
  #woken = false;
  #end: () => void = () => {};

  /** Ends the pause, or the next one if there is none at the moment. */
  wake(): void {
    this.#woken = true;
    this.#end();
  }

  async wait(): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#woken = false;
  }
}
