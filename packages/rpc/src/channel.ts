import type { ChildProcess } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  type Transferable,
  type Worker,
} from 'node:worker_threads';
import { z } from 'zod';

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
  /** The `name` of the error, which tells its class. */
  name: z.string(),
  code: z.string().optional(),
  message: z.string(),
  stack: z.string().optional(),
  /** The message of the error's cause. */
  cause: z.string().optional(),
});
export type SentError = z.infer<typeof SentError>;

/**
 * Make errors of the caller's classes again, by the `name` of the error. An error of another class becomes an `Error`, and
 * so does one for which the function returns undefined, because the other side may send any code.
 *
 * @example
 * const errors: ErrorClasses = { BundleError: ({ message }, options) => new BundleError(message, options) };
 */
export type ErrorClasses = Readonly<Record<string, (sent: SentError, options: ErrorOptions) => Error | undefined>>;

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
  readonly #errors: ErrorClasses;
  readonly #pending = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  readonly #running = new Map<number, AbortController>();
  #lastId = 0;

  /** @param errors the classes that errors of the other side keep */
  constructor(
    endpoint: ChildProcess | NodeJS.Process | MessagePort | Worker | undefined,
    handlers: object = {},
    errors: ErrorClasses = {},
  ) {
    this.endpoint = endpoint;
    this.#handlers = { ...handlers };
    this.#errors = errors;
    (endpoint as EventEmitter | undefined)?.on('message', (message: unknown) => this.#receive(message));
  }

  /**
   * Rejects with the error of the function, which keeps its class if `errors` has it. If the signal is already aborted,
   * it rejects with its reason.
   */
  async call<N extends keyof Remote & string>(
    name: N,
    input: Input<Remote, N>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Output<Remote, N>> {
    signal?.throwIfAborted();
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
      if (error) this.#pending.get(id)?.reject(fromSentError(error, this.#errors));
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
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { name, code, message, stack, ...(cause instanceof Error && { cause: cause.message }) };
}

function fromSentError(sent: SentError, errors: ErrorClasses): Error {
  const options = sent.cause === undefined ? {} : { cause: new Error(sent.cause) };
  const known = Object.hasOwn(errors, sent.name) ? errors[sent.name]!(sent, options) : undefined;
  // The log then shows the stack in the other thread.
  return known ?? Object.assign(new Error(sent.message, options), sent.stack !== undefined && { stack: sent.stack });
}
