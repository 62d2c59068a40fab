import type { ChosenDevice, DecodedPhoto, EngineErrorCode, Generated, GenerateOptions } from '@gen3d/engine';
import type { Config } from '../../config.js';
import type { StageTimes } from '../../data/jobs/stage-times.js';

/** Messages from the server to a runner or preparer process. */
export type ToRunner =
  | {
      type: 'start';
      runner: string;
      config: Config;
      logLevel: string;
      /** Whether the device failed in the process before this one. */
      deviceFailed: boolean;
      /** How long the CPU stands in for a failed device before a fresh process tries the device again. */
      retryDeviceMs: number;
    }
  /** A job was created: look now instead of at the next poll. */
  | { type: 'wake' }
  /** Claim nothing more, finish the job in progress, exit: another process takes over. */
  | { type: 'retire' }
  /** Claim nothing more, finish the inference under way if it takes no longer than `graceMs`, hand the rest back, exit. */
  | { type: 'drain'; graceMs: number };

/** Messages from a runner or preparer process to the server. They speed things up; the truth is in the database. */
export type FromRunner =
  /** A preparer has no device. */
  | { type: 'ready'; device?: string }
  /** The engine cannot be opened; trying again will not help until somebody changes something. */
  | { type: 'failed'; message: string }
  /** The CPU stands in for a device that failed, in this process or in the one before it. */
  | { type: 'fellBack' }
  /** An inference begins, `waitedMs` after its job was created, or has ended in whatever way: between the two the server looks at the clock. */
  | { type: 'inferring'; jobId: string; waitedMs: number; attempt: number }
  | { type: 'idle' }
  /** A job was claimed; `takenOver` from a runner that had let its lease run out. */
  | { type: 'claimed'; takenOver: boolean }
  /** A job is ready for inference. */
  | { type: 'prepared' }
  /** A file system does not respond, so a thread of this process is stuck. It has handed its jobs back. */
  | { type: 'hung'; stage: string }
  /** A job changed, so an event may be waiting to be delivered. */
  | { type: 'changed' }
  | { type: 'finished'; status: 'SUCCEEDED'; inferenceMs: number; stageTimes: StageTimes }
  | { type: 'finished'; status: 'FAILED' };

/** What of it is about jobs. */
export type RunnerNews = Extract<FromRunner, { type: 'claimed' | 'prepared' | 'inferring' | 'changed' | 'finished' }>;

/** How fine models are made; what is undefined is left to the engine. */
export type Detail = Pick<GenerateOptions, 'resolution' | 'maxTriangles' | 'textureSize'>;

/** What a runner says to the thread of its engine. One photo at a time. */
export type ToEngine = { type: 'generate'; photo: DecodedPhoto } | { type: 'abort' } | { type: 'close' };

/** What that thread says. */
export type FromEngine =
  | { type: 'opened'; chosen: ChosenDevice }
  /** The device failed and the CPU has taken over; the job in progress continues there. */
  | { type: 'fellBack'; message: string }
  | { type: 'progress'; fraction: number }
  /** The three ends of a `generate`: done, something is wrong with this photo, anything else. */
  | ({ type: 'generated' } & Pick<Generated, 'glb' | 'thumbnail' | 'stats'>)
  /** `detail` is for the log, and `message` for the customer. */
  | { type: 'refused'; code: EngineErrorCode; message: string; detail: string | undefined }
  | { type: 'broken'; problem: string };
