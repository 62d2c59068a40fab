import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  type Transferable,
  type Worker,
} from 'node:worker_threads';
import { z } from 'zod';
import { BundleError, EngineError, engineErrorCodes } from '../base/errors.js';

/** An interface whose methods one side of a channel offers to the other. Each takes at most one value. */
export type Functions<F> = { [N in keyof F]: (input: never) => unknown };
export type Input<F extends Functions<F>, N extends keyof F> = Parameters<F[N]>[0];
export type Output<F extends Functions<F>, N extends keyof F> = Awaited<ReturnType<F[N]>>;

/** Implements such an interface. The signal of a request is aborted when the caller's signal is. */
export type Handlers<F extends Functions<F>> = {
  readonly [N in keyof F]: (input: Input<F, N>, signal: AbortSignal) => Output<F, N> | Promise<Output<F, N>>;
};

/** An error on its way to another process or thread. Sent as it is, it would lose its class. */
const SentError = z.object({
  type: z.enum(['engine', 'bundle', 'other']),
  code: z.enum(engineErrorCodes).optional(),
  message: z.string(),
  stack: z.string().optional(),
  /** The message of the error's cause. */
  cause: z.string().optional(),
});
type SentError = z.infer<typeof SentError>;

/** The other side may be a process that was taken over, so its messages are checked here. Callers check the values. */
const Message = z.discriminatedUnion('type', [
  /** A request, or without an id a notification. */
  z.object({ type: z.literal('call'), id: z.number().optional(), name: z.string(), input: z.unknown() }),
  z.object({ type: z.literal('abort'), id: z.number() }),
  z.object({
    type: z.literal('response'),
    id: z.number(),
    result: z.unknown().optional(),
    error: SentError.optional(),
  }),
]);
type Message = z.infer<typeof Message>;

const transfers = new WeakMap<object, readonly Transferable[]>();

/** Moves these buffers and ports with `value`, an input or result, to another thread instead of copying them. */
export function transfer<T extends object>(value: T, list: readonly Transferable[]): T {
  transfers.set(value, list);
  return value;
}

/**
 * Carries requests and notifications between two processes or threads. Each side offers functions, and calls those of
 * the other side by name: `call` settles with the function's result or error, and `notify` does not wait.
 */
export class Channel<Remote extends Functions<Remote>> {
  protected readonly endpoint: ChildProcess | NodeJS.Process | MessagePort | Worker | undefined;
  readonly #handlers: Readonly<Record<string, (input: unknown, signal?: AbortSignal) => unknown>>;
  readonly #pending = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  readonly #running = new Map<number, AbortController>();
  #lastId = 0;

  constructor(endpoint: ChildProcess | NodeJS.Process | MessagePort | Worker | undefined, handlers: object = {}) {
    this.endpoint = endpoint;
    this.#handlers = { ...handlers };
    (endpoint as EventEmitter | undefined)?.on('message', (message: unknown) => this.#receive(message));
  }

  /** Rejects with the error of the function. An `EngineError` or `BundleError` keeps its class. */
  async call<N extends keyof Remote & string>(
    name: N,
    input: Input<Remote, N>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Output<Remote, N>> {
    const id = ++this.#lastId;
    const abort = () => this.#post({ type: 'abort', id });
    signal?.addEventListener('abort', abort);
    try {
      return await new Promise<Output<Remote, N>>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject });
        this.#post({ type: 'call', id, name, input }, input);
      });
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#pending.delete(id);
    }
  }

  notify<N extends keyof Remote & string>(name: N, ...[input]: Parameters<Remote[N]>): void {
    this.#post({ type: 'call', name, input }, input);
  }

  /** Handles the messages that have arrived in a thread, for a function that does not return to the event loop. */
  receiveNow(): void {
    const port = this.endpoint as MessagePort;
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) this.#receive(next.message);
  }

  protected rejectPending(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
  }

  /** Ignores what is not a message, and notifications without a function: they must not end this side. */
  #receive(received: unknown): void {
    const { data: message } = Message.safeParse(received);
    if (message?.type === 'response') {
      const { id, result, error } = message;
      if (error) this.#pending.get(id)?.reject(fromSentError(error));
      else this.#pending.get(id)?.resolve(result as never);
    } else if (message?.type === 'abort') this.#running.get(message.id)?.abort();
    else if (message?.id !== undefined) void this.#respond(message.id, message.name, message.input);
    else if (message && Object.hasOwn(this.#handlers, message.name)) this.#handlers[message.name]!(message.input);
  }

  async #respond(id: number, name: string, input: unknown): Promise<void> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      if (!Object.hasOwn(this.#handlers, name)) throw new Error(`There is no function ${JSON.stringify(name)}`);
      const result = await this.#handlers[name]!(input, abort.signal);
      this.#post({ type: 'response', id, result }, result);
    } catch (error) {
      this.#post({ type: 'response', id, error: toSentError(error) });
    }
    this.#running.delete(id);
  }

  #post(message: Message, value?: unknown): void {
    const { endpoint } = this;
    if (!endpoint) return;
    if ('postMessage' in endpoint) endpoint.postMessage(message, transfers.get(value as object) ?? []);
    // A send fails only if the other process has just ended, which its exit reports.
    else if (endpoint.connected) endpoint.send?.(message, undefined, undefined, () => {});
  }
}

/** Opens a channel to the process or thread that started this one. This process exits when that one does. */
export function parentChannel<Remote extends Functions<Remote>>(handlers: object): Channel<Remote> {
  if (parentPort) return new Channel(parentPort, handlers);
  process.on('disconnect', () => process.exit(1));
  // The parent may have ended while this process was starting.
  if (!process.connected) process.exit(1);
  return new Channel(process, handlers);
}

function toSentError(thrown: unknown): SentError {
  const { message, stack, cause } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const common = { message, stack, ...(cause instanceof Error && { cause: cause.message }) };
  if (thrown instanceof EngineError) return { ...common, type: 'engine', code: thrown.code };
  return { ...common, type: thrown instanceof BundleError ? 'bundle' : 'other' };
}

function fromSentError({ type, code, message, stack, cause }: SentError): Error {
  const options = cause === undefined ? {} : { cause: new Error(cause) };
  if (type === 'engine' && code) return new EngineError(code, message, options);
  if (type === 'bundle') return new BundleError(message, options);
  // The log then shows the stack in the other thread.
  return Object.assign(new Error(message, options), stack !== undefined && { stack });
}

/** Says how a child ended. If it could not be started, or if a thread crashed, it has neither a code nor a signal. */
export class ExitError extends Error {
  override readonly name = 'ExitError';
  readonly code: number | null = null;
  readonly signal: NodeJS.Signals | null = null;
  /** True if it was killed because a call exceeded its time limit. */
  readonly timedOut: boolean = false;

  constructor(message: string, end: Partial<Pick<ExitError, 'code' | 'signal' | 'timedOut' | 'cause'>>) {
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

  /** @param name for the message of the `ExitError` */
  constructor(name: string, start: () => ChildProcess | Worker, handlers?: object) {
    let endpoint: ChildProcess | Worker | undefined;
    let problem: unknown;
    try {
      endpoint = start();
    } catch (error) {
      // `fork` throws some failures, such as ENOMEM, and emits others, such as EAGAIN.
      problem = error;
    }
    super(endpoint, handlers);
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
        if (timeoutMs === undefined) end(`ended with ${signal ?? `code ${code}`}`, { code, signal });
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
