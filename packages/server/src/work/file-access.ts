import type { Logger } from 'pino';
import { StageTimeoutError } from './stage-failures.js';

/** Longer than the retries of a request to S3. */
const defaultTimeoutMs = 120_000;

/**
 * Limits each access to stored files. A call that hangs cannot be canceled, and occupies one of the few threads on
 * which Node reads files. So while one hangs, the worker claims nothing, and the server is not ready.
 */
export class FileAccess {
  readonly #timeoutMs: number;
  readonly #log: Logger;
  readonly #hanging = new Set<Promise<unknown>>();

  constructor(log: Logger, timeoutMs = defaultTimeoutMs) {
    this.#log = log;
    this.#timeoutMs = timeoutMs;
  }

  /** True while a call has exceeded its limit and has not returned. */
  get hangs(): boolean {
    return this.#hanging.size > 0;
  }

  /**
   * @param stage the operation, for example "reading the input"
   * @throws {StageTimeoutError} when `work` has not settled in time
   */
  async limit<T>(stage: string, work: Promise<T>, timeoutMs = this.#timeoutMs): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#hang(stage, work);
        reject(new StageTimeoutError(`${stage} took longer than ${timeoutMs / 1_000} s`));
      }, timeoutMs);
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  #hang(stage: string, work: Promise<unknown>): void {
    this.#hanging.add(work);
    this.#log.error({ stage }, 'a file system does not respond; no job starts until it does');
    const end = () => {
      this.#hanging.delete(work);
      if (!this.hangs) this.#log.info('the file system responds again');
    };
    work.then(end, end);
  }
}
