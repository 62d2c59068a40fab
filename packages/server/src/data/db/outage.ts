import type { Logger } from 'pino';
import type { DatabaseUnavailableError } from './unavailable.js';

/** One failure among answers, as when a server has too few connections for all, does not end an outage and begin another. */
const calmMs = 1_000;

/** Logs that the database went away, and that it is back: once each, however many queries notice. */
export class Outage {
  readonly #log: Logger;
  readonly #now: () => number;
  #since: number | undefined;
  #lastFailure = 0;

  /** `now` is in milliseconds of a clock that never steps back. */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  failed({ message }: DatabaseUnavailableError): void {
    this.#lastFailure = this.#now();
    if (this.#since !== undefined) return;
    this.#since = this.#lastFailure;
    this.#log.error({ reason: message }, 'the database is away');
  }

  answered(): void {
    if (this.#since === undefined || this.#now() - this.#lastFailure < calmMs) return;
    this.#log.warn({ awaySeconds: Math.round((this.#now() - this.#since) / 100) / 10 }, 'the database is back');
    this.#since = undefined;
  }
}
