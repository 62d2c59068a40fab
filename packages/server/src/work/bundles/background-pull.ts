import type { BundlePull } from '@gen3d/schema/dashboard';
import type { Logger } from 'pino';
import { pullEnvironment } from '../../base/environment.js';
import type { Offers, PullRequest } from './offers.js';

/** Pulls bundles, one at a time, and reports the progress of the current pull. */
export class BackgroundPull {
  readonly #log: Logger;
  #status: BundlePull | null = null;
  #abort: AbortController | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Describes the current pull, or the last one. */
  get status(): BundlePull | null {
    return this.#status;
  }

  /** Starts a pull. Returns false if another one is running. */
  start(request: PullRequest, { pullInProcess }: Pick<Offers, 'pullInProcess'>): boolean {
    if (this.#abort) return false;
    const abort = new AbortController();
    const { name } = request;
    this.#abort = abort;
    this.#status = { name, status: 'running', received_bytes: 0, total_bytes: 0, problem: null };
    this.#log.info({ bundle: name }, 'pull started');
    pullInProcess(request, {
      onProgress: ({ received, total }) => {
        if (this.#abort === abort) this.#update({ received_bytes: received, total_bytes: total });
      },
      signal: abort.signal,
      env: pullEnvironment(),
    }).then(
      () => this.#end(abort, 'done', null),
      (error: Error) => this.#end(abort, 'failed', error.message),
    );
    return true;
  }

  /** Ends the running pull, if there is one. A later pull of the same bundle resumes it. */
  cancel(): void {
    if (!this.#abort) return;
    this.#abort.abort();
    this.#end(this.#abort, 'canceled', null);
  }

  #update(change: Partial<BundlePull>): void {
    if (this.#status) this.#status = { ...this.#status, ...change };
  }

  /** Records the first outcome of a pull. Ignores later ones, because the next pull may be running. */
  #end(abort: AbortController, status: BundlePull['status'], problem: string | null): void {
    if (this.#abort !== abort) return;
    this.#update({ status, problem });
    this.#abort = undefined;
    const bundle = this.#status?.name;
    if (problem === null) this.#log.info({ bundle }, `pull ${status}`);
    else this.#log.error({ bundle, problem }, 'pull failed');
  }
}
