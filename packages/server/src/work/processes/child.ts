import { Child, forkModule } from '@gen3d/engine/rpc';
import { newUlid } from '../../base/ids.js';
import type { ChildFunctions, FromChild, RunnerDevice, StartOptions, SupervisorFunctions } from './messages.js';

/** A kind of child process that the supervisor keeps running. */
export interface ChildKind {
  /** Names the process in the log. */
  readonly name: 'runner' | 'preparer';
  /** The module that the process runs. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  readonly startOptions: (id: string) => StartOptions;
  readonly onMessage: (child: SupervisedChild, message: FromChild) => void;
}

/** Limits the time of a job's inference. */
interface Limit {
  readonly timer: NodeJS.Timeout;
  readonly endsAt: number;
  readonly onHang: () => void;
}

/** One runner or preparer process, from its fork to its end. */
export class SupervisedChild extends Child<ChildFunctions> {
  readonly id = newUlid();
  readonly startedAt = Date.now();
  ready = false;
  /** Why it could not become ready. */
  problem: string | undefined;
  /** True once it has done useful work. */
  useful = false;
  /** True if it was killed because it exceeded a time limit. */
  hung = false;
  readonly #limits = new Map<string, Limit>();

  constructor({ name, file, env }: ChildKind, functions: SupervisorFunctions) {
    super(`${name} process`, () => forkModule(file, { env }), functions);
    void this.ended.then(() => {
      for (const jobId of this.#limits.keys()) this.clearLimit(jobId);
    });
  }

  /** Resolves when the process is ready. Ends it if it cannot become ready. */
  async start(options: StartOptions): Promise<RunnerDevice | undefined> {
    try {
      const device = await this.call('start', options);
      this.ready = true;
      return device;
    } catch (error) {
      this.problem = (error as Error).message;
      await this.kill();
      throw error;
    }
  }

  /** Kills the process unless `clearLimit` is called within `ms`. The timer runs outside the process that may hang. */
  limit(jobId: string, ms: number, onHang: () => void): void {
    this.clearLimit(jobId);
    const timer = setTimeout(() => {
      this.hung = true;
      onHang();
      void this.kill();
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
