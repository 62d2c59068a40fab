import { newUlid } from '../../base/ids.js';
import type { ClaimedJob } from '../../data/jobs/claim.js';
import { perJobBytes } from './capacity.js';
import type { Made, ModelMaker } from './runner-protocol.js';

const gib = 1024 ** 3;
/**
 * How long a runner stays on the CPU after its device has failed again. After the first failure it does not stay at
 * all, so a transient failure costs one slow job. While the device keeps failing, the time doubles.
 */
const firstDeviceRetryMs = 60_000;
const maxDeviceRetryMs = 3_600_000;

/** The device on which a runner runs the networks. */
export interface RunnerDevice {
  provider: string;
  /** The name of the GPU. Undefined for the CPU. */
  adapter?: string | undefined;
  /** How many jobs the runner works on concurrently. */
  slots: number;
}

/** The failures of a device, which outlive the runner that used it. */
export interface DeviceHistory {
  failed: boolean;
  retryMs: number;
}

/** A runner process or model server, with the jobs that it works on. */
export class Runner {
  /** Names the runner in leases, in the log and in the database. */
  readonly id = newUlid();
  readonly maker: ModelMaker;
  readonly #history: DeviceHistory;
  readonly #jobs = new Set<ClaimedJob>();
  /** Undefined until the runner is ready. */
  #device: RunnerDevice | undefined;
  #instance = '';
  #fellBack = false;
  #isRetiring = false;
  #hasEnded = false;
  /** Milliseconds in the engine and on the device, of all jobs that have succeeded. */
  #engineMs = 0;
  #deviceMs = 0;
  #rssAfterFirstJob: number | undefined;

  constructor(maker: ModelMaker, history: DeviceHistory = { failed: false, retryMs: 0 }) {
    this.maker = maker;
    this.#history = history;
    void maker.ended.then(() => {
      this.#hasEnded = true;
    });
  }

  /** Offers the runner to jobs. @param instance the serving instance whose rate applies */
  becomeReady(device: RunnerDevice, instance: string): void {
    this.#device = device;
    this.#instance = instance;
    if (this.#history.failed && device.provider === 'cpu') this.fallBack();
    // The device may have failed while it was opened.
    if (this.#isRetiring) this.retire();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** True once the CPU has replaced the device. It is then neither counted nor charged as the device's instance. */
  get fellBack(): boolean {
    return this.#fellBack;
  }

  get instance(): string {
    return this.#fellBack ? 'cpu' : this.#instance;
  }

  get idle(): boolean {
    return this.#jobs.size === 0;
  }

  /** True if it takes no more jobs, because another runner is to replace it. */
  get isRetiring(): boolean {
    return this.#isRetiring;
  }

  get hasMadeModels(): boolean {
    return this.#engineMs > 0;
  }

  /** How many more jobs it can take now. */
  get free(): number {
    if (!this.#device || this.#isRetiring || this.#hasEnded) return 0;
    // A job that was attempted before may crash this runner, and the others would lose an attempt with it.
    if ([...this.#jobs].some(({ attempt }) => attempt > 1)) return 0;
    // Further jobs would only wait for the device, while another machine may be idle.
    const useful = this.#deviceMs === 0 ? Number.POSITIVE_INFINITY : 1 + Math.round(this.#engineMs / this.#deviceMs);
    return Math.min(this.#device.slots, useful) - this.#jobs.size;
  }

  /** Counts the job as one of this runner while `work` lasts. */
  async hold(job: ClaimedJob, work: () => Promise<void>): Promise<void> {
    this.#jobs.add(job);
    try {
      await work();
    } finally {
      this.#jobs.delete(job);
      if (this.#isRetiring) this.retire();
    }
  }

  recordSuccess({ engineMs, deviceMs, rssBytes }: Pick<Made, 'engineMs' | 'deviceMs' | 'rssBytes'>): void {
    this.#engineMs += engineMs;
    this.#deviceMs += deviceMs;
    if (!this.#fellBack) Object.assign(this.#history, { failed: false, retryMs: 0 } satisfies DeviceHistory);
    if (rssBytes !== undefined && this.#hasLeaked(rssBytes)) this.retire();
  }

  /** The CPU has replaced the device. Another runner will try the device again. */
  fallBack(): void {
    this.#fellBack = true;
    setTimeout(() => this.retire(), this.#history.retryMs).unref();
    this.#history.failed = true;
    this.#history.retryMs = Math.min(Math.max(2 * this.#history.retryMs, firstDeviceRetryMs), maxDeviceRetryMs);
  }

  /** Takes no more jobs, and ends when it has none. */
  retire(): void {
    this.#isRetiring = true;
    if (this.#device && this.idle) this.maker.kill();
  }

  /**
   * True once the process has grown beyond twice its size after the first job, plus 1 GiB, plus the memory of the jobs
   * in its other slots: native sessions leak, and a new process costs less than a machine that runs out of memory.
   */
  #hasLeaked(rssBytes: number): boolean {
    this.#rssAfterFirstJob ??= rssBytes;
    return rssBytes > 2 * this.#rssAfterFirstJob + gib + ((this.#device?.slots ?? 1) - 1) * perJobBytes;
  }
}
