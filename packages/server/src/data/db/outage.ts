import type { Logger } from 'pino';
import type { DatabaseUnavailableError } from './unavailable.js';

/** Successes end an outage only after this long without a failure: a server short of connections fails some queries. */
const calmMs = 1_000;

/** Logs the start and the end of an outage of the database once each, however many queries fail. */
export class Outage {
  readonly #log: Logger;
  readonly #now: () => number;
  #since: number | undefined;
  #lastFailure = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  failed({ message }: DatabaseUnavailableError): void {
    this.#lastFailure = this.#now();
    if (this.#since !== undefined) return;
    this.#since = this.#lastFailure;
    this.#log.error({ reason: message }, 'the database is unavailable');
  }

  succeeded(): void {
    if (this.#since === undefined || this.#now() - this.#lastFailure < calmMs) return;
    this.#log.warn(
      { awaySeconds: Math.round((this.#now() - this.#since) / 100) / 10 },
      'the database is available again',
    );
    this.#since = undefined;
  }
}
