import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { BundlePull } from '@gen3d/schema/dashboard';
import type { Logger } from 'pino';
import { withoutSettings } from '../../base/environment.js';
import type { PullOptions } from './pull.js';

export type PullRequest = { readonly name: string } & Pick<PullOptions, 'directory' | 'modelDirs'>;

/** Messages from the process of a pull. */
export type FromPull =
  | { type: 'progress'; received: number; total: number }
  | { type: 'done' }
  | { type: 'failed'; problem: string };

const { resolve } = createRequire(import.meta.url);

/** Pulls bundles in a child process, one at a time. */
export class BackgroundPull {
  readonly #log: Logger;
  #status: BundlePull | null = null;
  #child: ChildProcess | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The current pull, or the last one. */
  get status(): BundlePull | null {
    return this.#status;
  }

  /** Starts a pull. Returns false if another one is running. */
  start(request: PullRequest): boolean {
    if (this.#child) return false;
    const child = fork(resolve('@gen3d/server/pull'), [], {
      execArgv: [],
      env: withoutSettings(process.env),
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    const { name } = request;
    this.#child = child;
    this.#status = { name, status: 'running', received_bytes: 0, total_bytes: 0, problem: null };
    child.on('message', (message: FromPull) => this.#receive(child, message));
    child.on('error', (error) => this.#end(child, 'failed', error.message));
    child.on('exit', (code, signal) =>
      this.#end(child, 'failed', `its process ended with ${signal ?? `code ${code}`}`),
    );
    child.send(request, () => {});
    this.#log.info({ bundle: name }, 'pull started');
    return true;
  }

  /** Ends the running pull, if there is one. A later pull of the same bundle resumes it. */
  cancel(): void {
    if (!this.#child) return;
    this.#child.kill('SIGKILL');
    this.#end(this.#child, 'canceled', null);
  }

  #receive(child: ChildProcess, message: FromPull): void {
    if (message.type === 'done') this.#end(child, 'done', null);
    else if (message.type === 'failed') this.#end(child, 'failed', message.problem);
    else if (this.#status && this.#child === child) {
      this.#status = { ...this.#status, received_bytes: message.received, total_bytes: message.total };
    }
  }

  /** Records the first outcome of a pull. Ignores later events of its process, because the next pull may be running. */
  #end(child: ChildProcess, status: BundlePull['status'], problem: string | null): void {
    if (this.#child !== child || !this.#status) return;
    this.#status = { ...this.#status, status, problem };
    this.#child = undefined;
    const { name } = this.#status;
    if (problem === null) this.#log.info({ bundle: name }, `pull ${status}`);
    else this.#log.error({ bundle: name, problem }, 'pull failed');
  }
}
