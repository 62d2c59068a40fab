import { type ChildProcess, fork } from 'node:child_process';
import { newUlid } from '../../base/ids.js';
import type { FromChild, ToChild } from './messages.js';

/** A kind of child process that the supervisor keeps running. */
export interface ChildKind {
  /** The name in the log. */
  readonly name: 'runner' | 'preparer';
  /** The module to run. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  /** The first message to a new process. */
  readonly startMessage: (id: string) => ToChild;
  /** Called with every message except `ready` and `failed`. */
  readonly onMessage: (child: Child, message: Exclude<FromChild, { type: 'ready' | 'failed' }>) => void;
}

/** The device on which a runner runs the networks. */
export interface RunnerDevice {
  readonly provider: string;
  /** The name of the GPU. Undefined for the CPU. */
  readonly adapter?: string | undefined;
}

/** How a process ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The time limit of a job's inference. */
interface Limit {
  readonly timer: NodeJS.Timeout;
  readonly endsAt: number;
  readonly onHang: () => void;
}

/** One child process, from its fork to its end. */
export class Child {
  readonly id = newUlid();
  readonly startedAt = Date.now();
  /** Resolves when the process has ended or could not be started. */
  readonly ended: Promise<ChildEnd>;
  ready = false;
  /** Undefined until a runner is ready. A preparer has no device. */
  device: RunnerDevice | undefined;
  /** Why it ended before it was ready. */
  problem: string;
  /** True once it has done useful work. */
  useful = false;
  /** True if it was killed because it exceeded a time limit. */
  hung = false;
  readonly #process: ChildProcess | undefined;
  readonly #limits = new Map<string, Limit>();

  constructor({ name, file, env, startMessage, onMessage }: ChildKind, onReady: (child: Child) => void) {
    this.problem = `the ${name} process ended before it was ready`;
    try {
      this.#process = fork(file, [], { execArgv: [], env, stdio: ['ignore', 2, 2, 'ipc'] });
    } catch (error) {
      // `fork` throws some failures, such as ENOMEM, and emits others, such as EAGAIN.
      this.problem = startFailure(name, error);
      this.ended = Promise.resolve({ code: null, signal: null });
      return;
    }
    const child = this.#process;
    child.on('message', (message: FromChild) => {
      if (message.type === 'ready') {
        this.ready = true;
        const { device, adapter } = message;
        this.device = device === undefined ? undefined : { provider: device, adapter };
        onReady(this);
      } else if (message.type === 'failed') {
        this.problem = message.message;
      } else {
        onMessage(this, message);
      }
    });
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        for (const jobId of this.#limits.keys()) this.clearLimit(jobId);
        resolve({ code, signal });
      };
      child.once('exit', end);
      child.on('error', (error) => {
        // If there is a process, `exit` follows.
        if (child.pid !== undefined) return;
        this.problem = startFailure(name, error);
        end(null, null);
      });
    });
    this.send(startMessage(this.id));
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  send(message: ToChild): void {
    // A send fails only if the process has just ended, which `ended` reports.
    if (this.#process?.connected) this.#process.send(message, () => {});
  }

  kill(): void {
    this.#process?.kill('SIGKILL');
  }

  /** Kills the process unless `clearLimit` is called within `ms`. The timer runs outside the process that may hang. */
  limit(jobId: string, ms: number, onHang: () => void): void {
    this.clearLimit(jobId);
    const timer = setTimeout(() => {
      this.hung = true;
      onHang();
      this.kill();
    }, ms);
    this.#limits.set(jobId, { timer, endsAt: performance.now() + ms, onHang });
  }

  /** Extends the time limit of a job by `ms`, if it has one. */
  extendLimit(jobId: string, ms: number): void {
    const limit = this.#limits.get(jobId);
    if (limit) this.limit(jobId, limit.endsAt - performance.now() + ms, limit.onHang);
  }

  clearLimit(jobId: string): void {
    clearTimeout(this.#limits.get(jobId)?.timer);
    this.#limits.delete(jobId);
  }
}

const startFailure = (name: string, error: unknown) =>
  `the ${name} process cannot be started: ${error instanceof Error ? error.message : String(error)}`;
