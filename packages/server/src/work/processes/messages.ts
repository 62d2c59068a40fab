import type { GenerateOptions } from '@gen3d/engine';
import type { Config } from '../../config.js';
import type { JobStage, StageTimes } from '../../data/jobs/stage-times.js';

export interface StartOptions {
  /** Identifies the process in leases and in the log. */
  id: string;
  config: Config;
  logLevel: string;
  /** True if the device failed in the previous process. */
  deviceFailed: boolean;
  /** How long the CPU replaces a failed device before a new process tries the device again. */
  retryDeviceMs: number;
}

/** The device on which a runner runs the networks. */
export interface RunnerDevice {
  provider: string;
  /** The name of the GPU. Undefined for the CPU. */
  adapter: string | undefined;
  /** How many jobs the runner works on concurrently. */
  slots: number;
}

/** The supervisor calls these functions of a runner or preparer process. */
export interface ChildFunctions {
  /** Must be called first. Returns when the process is ready, with the device of a runner. */
  start(options: StartOptions): RunnerDevice | undefined;
  /** Looks for a waiting job now instead of at the next poll. */
  wake(): void;
  /** Claims no more jobs, finishes those in progress, and exits to be replaced. */
  retire(): void;
  /** Claims no more jobs, gives running inferences `graceMs` to finish, hands the other jobs back, and exits. */
  drain(graceMs: number): void;
}

/** A child process calls this function of its supervisor. Messages only save time: the database has the state. */
export interface SupervisorFunctions {
  report(message: FromChild): void;
}

/** Messages from a runner or preparer process to the supervisor. */
export type FromChild =
  /** The CPU replaces a device that failed in this process or in the previous one. */
  | { type: 'fellBack' }
  /** An inference starts, `waitedMs` after its job was created. Until `inferred`, its time is limited. */
  | { type: 'inferring'; jobId: string; waitedMs: number; attempt: number }
  /** A stage of an inference starts. */
  | { type: 'stage'; jobId: string; stage: JobStage }
  /** An inference waited while the device worked for other jobs. Its time limit is extended. */
  | { type: 'waitedForDevice'; jobId: string; ms: number }
  /** An inference has ended, with or without success. */
  | { type: 'inferred'; jobId: string }
  /** A job was claimed. `takenOver`: from a process whose lease had expired. */
  | { type: 'claimed'; takenOver: boolean }
  /** A job is ready for inference. */
  | { type: 'prepared' }
  /** A file system does not respond, and a thread of this process is blocked. The process has released its jobs. */
  | { type: 'hung'; stage: string }
  /** A job changed, so an event may be waiting for delivery. */
  | { type: 'changed' }
  | { type: 'finished'; jobId: string; status: 'SUCCEEDED'; inferenceMs: number; stageTimes: StageTimes }
  | { type: 'finished'; jobId: string; status: 'FAILED' }
  /** The process stopped working on a job that was canceled or taken over. */
  | { type: 'left'; jobId: string };

/** These messages are about jobs. */
export type JobMessage = Extract<
  FromChild,
  { type: 'claimed' | 'prepared' | 'inferring' | 'stage' | 'changed' | 'finished' | 'left' }
>;

/** Undefined values have the defaults of the engine. */
export type MeshOptions = Pick<GenerateOptions, 'resolution' | 'maxTriangles' | 'textureSize'>;
