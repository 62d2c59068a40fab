import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { Channel, type ErrorClasses, type Functions, type Input, type Output } from './channel.js';

/** Says how a child ended. If it could not be started, or if a thread crashed, it has neither a code nor a signal. */
export class ExitError extends Error {
  override readonly name = 'ExitError';
  readonly code: number | null = null;
  readonly signal: NodeJS.Signals | null = null;
  /** True if it was killed because a call exceeded its time limit. */
  readonly timedOut: boolean = false;
  /** True if it was killed, but not by this process or a time limit. Most likely, the machine ran out of memory. */
  readonly killedByOthers: boolean = false;

  constructor(
    message: string,
    end: Partial<Pick<ExitError, 'code' | 'signal' | 'timedOut' | 'killedByOthers' | 'cause'>>,
  ) {
    super(message);
    Object.assign(this, end);
  }
}

/**
 * Opens a channel to a child process or thread, and reports how the child ends. All pending calls reject with that
 * `ExitError`, and so do later ones.
 */
export class Child<Remote extends Functions<Remote>> extends Channel<Remote> {
  declare protected readonly endpoint: ChildProcess | Worker | undefined;
  readonly ended: Promise<ExitError>;
  #exit: ExitError | undefined;
  #timeoutMs: number | undefined;
  #isKilled = false;

  /**
   * @param name for the message of the `ExitError`
   * @param errors the classes that errors of the child keep
   */
  constructor(name: string, start: () => ChildProcess | Worker, handlers?: object, errors?: ErrorClasses) {
    let endpoint: ChildProcess | Worker | undefined;
    let problem: unknown;
    try {
      endpoint = start();
    } catch (error) {
      // `fork` throws some failures, such as ENOMEM, and emits others, such as EAGAIN.
      problem = error;
    }
    super(endpoint, handlers, errors);
    this.ended = new Promise((resolve) => {
      const end = (how: string, details: ConstructorParameters<typeof ExitError>[1]) => {
        this.#exit ??= new ExitError(`the ${name} ${how}`, details);
        this.rejectPending(this.#exit);
        resolve(this.#exit);
      };
      const fail = (how: string, cause: unknown) => end(`${how}: ${(cause as Error).message}`, { cause });
      if (!endpoint) return fail('cannot be started', problem);
      const events: EventEmitter = endpoint;
      events.on('error', (error: Error) => {
        if ('terminate' in endpoint) fail('crashed', error);
        // If there is a process, `exit` follows.
        else if (endpoint.pid === undefined) fail('cannot be started', error);
      });
      events.on('exit', (code: number | null, signal: NodeJS.Signals | null = null) => {
        const timeoutMs = this.#timeoutMs;
        const killedByOthers = signal === 'SIGKILL' && !this.#isKilled;
        if (timeoutMs === undefined) end(`ended with ${signal ?? `code ${code}`}`, { code, signal, killedByOthers });
        else end(`did not respond within ${timeoutMs / 1_000} s`, { code, signal, timedOut: true });
      });
    });
  }

  /** The process id, once the process has been started. */
  get pid(): number | undefined {
    return (this.endpoint as ChildProcess | undefined)?.pid;
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  /** A call that takes longer than `timeoutMs` kills the child. */
  override async call<N extends keyof Remote & string>(
    name: N,
    input: Input<Remote, N>,
    { timeoutMs, signal }: { timeoutMs?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<Output<Remote, N>> {
    return this.withDeadline(timeoutMs, () => super.call(name, input, { signal }));
  }

  /**
   * Kills the child if `work` takes longer than `timeoutMs`, because nothing else can interrupt a blocked thread. `work`
   * may extend that by calling `extend` with the sum of all extensions.
   * @throws {ExitError} if the child has ended already
   */
  async withDeadline<T>(
    timeoutMs: number | undefined,
    work: (extend: (byMs: number) => void) => Promise<T>,
  ): Promise<T> {
    if (this.#exit) throw this.#exit;
    if (timeoutMs === undefined) return work(() => {});
    const start = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const extend = (byMs: number) => {
      const limitMs = timeoutMs + byMs;
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          this.#timeoutMs = limitMs;
          void this.kill();
        },
        start + limitMs - performance.now(),
      );
    };
    extend(0);
    return work(extend).finally(() => clearTimeout(timer));
  }

  /**
   * Makes the only call of a child that was started for it, and ends the child. Aborting the signal ends it at once.
   *
   * @throws the signal's reason, once aborted
   */
  async callOnce<N extends keyof Remote & string>(
    name: N,
    input: Input<Remote, N>,
    signal: AbortSignal,
  ): Promise<Output<Remote, N>> {
    const kill = () => void this.kill();
    signal.addEventListener('abort', kill);
    try {
      return await this.call(name, input);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', kill);
      await this.kill();
    }
  }

  /** Ends the child at once. Resolves when it has ended. */
  kill(): Promise<ExitError> {
    const { endpoint } = this;
    this.#isKilled = true;
    if (endpoint && 'terminate' in endpoint) void endpoint.terminate();
    // After a failed `fork`, until Node emits its error, `kill` would send the signal to whatever process id the handle
    // holds. That is often 0, which means the whole process group, including this process.
    else if (endpoint?.pid !== undefined) endpoint.kill('SIGKILL');
    return this.ended;
  }
}

/** Starts a module in a child process, which writes to the stderr of this one. */
export const forkModule = (file: string, options: ForkOptions, args: readonly string[] = []): ChildProcess =>
  fork(file, args, { execArgv: [], serialization: 'advanced', stdio: ['ignore', 2, 2, 'ipc'], ...options });
