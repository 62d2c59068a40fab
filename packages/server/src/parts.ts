import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Grace period for running inferences when the server stops. */
export const drainGraceMs = 30_000;
/** Time for the rest of a shutdown. The sum is less than the 45 s that systemd and compose allow. */
const shutdownMarginMs = 10_000;

/** A part of a server that was started, and can be stopped once. */
export interface Started {
  /** Stops the part. Running inferences have `graceMs` to finish. */
  stop(graceMs: number): Promise<void> | void;
  /** Ends what `stop` still waits for when the shutdown takes too long. */
  abort?(): Promise<void> | void;
}

/** Starts each part of a server after those it needs, and stops it before them. */
export class Parts {
  readonly #log: Logger;
  readonly #started: Started[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  async start<T extends Started>(part: Promise<T> | T): Promise<T> {
    const started = await part;
    this.#started.push(started);
    return started;
  }

  /** Stops the parts in reverse order. If that takes longer than `graceMs` plus a margin, logs it and aborts them. */
  async stop({ graceMs = drainGraceMs }: { graceMs?: number } = {}): Promise<void> {
    const reversed = this.#started.splice(0).reverse();
    const stopAll = async () => {
      for (const part of reversed) await part.stop(graceMs);
      return true;
    };
    const late = pause(graceMs + shutdownMarginMs, false, { ref: false });
    if (await Promise.race([stopAll(), late])) return;
    this.#log.warn('the shutdown takes too long; aborting what is still in progress');
    for (const part of reversed) await part.abort?.();
  }
}
