import { createRequire } from 'node:module';
import { Child, forkModule, type Handlers } from '@gen3d/engine/rpc';
import type { BundlePull } from '@gen3d/schema/dashboard';
import type { PullOptions } from '@gen3d/weights';
import type { Logger } from 'pino';
import { withoutSettings } from '../../base/environment.js';

export type PullRequest = { readonly name: string } & Pick<PullOptions, 'directory' | 'modelDirs'>;

/** The server calls this function of a pull's process. */
export interface Puller {
  pull(request: PullRequest): void;
}

/** The process of a pull calls these functions of the server. */
export interface PullObserver {
  progress(progress: { readonly received: number; readonly total: number }): void;
}

const { resolve } = createRequire(import.meta.url);

/** Pulls bundles in a child process, one at a time. */
export class BackgroundPull {
  readonly #log: Logger;
  #status: BundlePull | null = null;
  #child: Child<Puller> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Describes the current pull, or the last one. */
  get status(): BundlePull | null {
    return this.#status;
  }

  /** Starts a pull. Returns false if another one is running. */
  start(request: PullRequest): boolean {
    if (this.#child) return false;
    const progress: PullObserver['progress'] = ({ received, total }) => {
      if (this.#child === child) this.#update({ received_bytes: received, total_bytes: total });
    };
    const child = new Child<Puller>(
      'pull',
      () => forkModule(resolve('@gen3d/server/pull'), { env: withoutSettings(process.env) }),
      { progress } satisfies Handlers<PullObserver>,
    );
    const { name } = request;
    this.#child = child;
    this.#status = { name, status: 'running', received_bytes: 0, total_bytes: 0, problem: null };
    this.#log.info({ bundle: name }, 'pull started');
    child
      .call('pull', request)
      .then(
        () => this.#end(child, 'done', null),
        (error: Error) => this.#end(child, 'failed', error.message),
      )
      .finally(() => child.kill());
    return true;
  }

  /** Ends the running pull, if there is one. A later pull of the same bundle resumes it. */
  cancel(): void {
    if (!this.#child) return;
    void this.#child.kill();
    this.#end(this.#child, 'canceled', null);
  }

  #update(change: Partial<BundlePull>): void {
    if (this.#status) this.#status = { ...this.#status, ...change };
  }

  /** Records the first outcome of a pull. Ignores later ones, because the next pull may be running. */
  #end(child: Child<Puller>, status: BundlePull['status'], problem: string | null): void {
    if (this.#child !== child) return;
    this.#update({ status, problem });
    this.#child = undefined;
    const bundle = this.#status?.name;
    if (problem === null) this.#log.info({ bundle }, `pull ${status}`);
    else this.#log.error({ bundle, problem }, 'pull failed');
  }
}
