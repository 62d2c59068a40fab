import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { BundlePull } from '@gen3d/schema/dashboard';
import type { Logger } from 'pino';
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
    const child = fork(resolve('@gen3d/server/pull'), [], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] });
    const { name } = request;
    this.#child = child;
    this.#status = { name, status: 'running', received_bytes: 0, total_bytes: 0, problem: null };
    child.on('message', (message: FromPull) => this.#receive(message));
    child.on('error', (error) => this.#end('failed', error.message));
    child.on('exit', (code, signal) => this.#end('failed', `its process ended with ${signal ?? `code ${code}`}`));
    child.send(request, () => {});
    this.#log.info({ bundle: name }, 'pull started');
    return true;
  }

  /** Ends the running pull, if there is one. A later pull of the same bundle resumes it. */
  cancel(): void {
    this.#child?.kill('SIGKILL');
    this.#end('canceled', null);
  }

  #receive(message: FromPull): void {
    if (message.type === 'done') this.#end('done', null);
    else if (message.type === 'failed') this.#end('failed', message.problem);
    else if (this.#status) {
      this.#status = { ...this.#status, received_bytes: message.received, total_bytes: message.total };
    }
  }

  /** Records the first outcome that becomes known. */
  #end(status: BundlePull['status'], problem: string | null): void {
    if (this.#status?.status !== 'running') return;
    this.#status = { ...this.#status, status, problem };
    this.#child = undefined;
    const { name } = this.#status;
    if (problem === null) this.#log.info({ bundle: name }, `pull ${status}`);
    else this.#log.error({ bundle: name, problem }, 'pull failed');
  }
}
