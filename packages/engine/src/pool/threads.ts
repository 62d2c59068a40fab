import { setPriority } from 'node:os';
import type { MessagePort } from 'node:worker_threads';
import type { Bundle } from '../bundle/load-bundle.js';
import type { ChosenDevice } from '../device/choose-device.js';
import type { EngineOptions } from '../device/engine-device.js';
import type { Generated, GenerateOptions, Stage } from '../engine.js';
import type { FloatTensor, TensorSpec } from '../network/session.js';
import type { Photos } from '../photo/side-photo.js';

/** Options that can be sent to a thread. */
export type ThreadOptions = Omit<EngineOptions, 'onWarning'>;

/** A pool calls these functions of its network thread. */
export interface NetworkThread {
  /** Chooses the device. Must be called first. @throws {BundleError} as `Engine.open` does */
  open(options: ThreadOptions): ChosenDevice;
  /** Offers the functions of `Networks` to a pipeline thread. */
  connect(port: MessagePort): void;
  /** Frees the networks. */
  close(): void;
}

/** A network thread calls this function of its pool. */
export interface NetworkObserver {
  /** Call this after the device has failed and the CPU has replaced it. */
  fellBack(message: string): void;
}

/** Pipeline threads call these functions of the network thread. They run one at a time, in order of arrival. */
export interface Networks {
  /** Opens a network unless it is open. Returns its path, and the shapes of its tensors. */
  open(network: { bundle: Bundle; file: string; inputs: readonly TensorSpec[]; outputs: readonly TensorSpec[] }): {
    path: string;
    shapes: ReadonlyMap<string, TensorSpec['shape']>;
  };
  /** Runs the open network at `path`. `deviceMs`: how long that took, without the time in the queue. */
  run(request: { path: string; inputs: Readonly<Record<string, FloatTensor>> }): {
    outputs: ReadonlyMap<string, Float32Array>;
    deviceMs: number;
  };
}

/** A pool calls these functions of a pipeline thread, which makes one model at a time. */
export interface PipelineThread {
  /** Must be called first, with a port that is connected to the network thread. */
  open(engine: { options: ThreadOptions; chosen: ChosenDevice; network: MessagePort }): void;
  generate(request: {
    photos: Photos;
    options: Pick<GenerateOptions, 'resolution' | 'maxTriangles' | 'textureSize' | 'sampler'>;
  }): PoolGenerated;
}

/** A pipeline thread calls this function of its pool. */
export interface PipelineObserver {
  progress(progress: { fraction: number } & PoolProgress): void;
}

/** Milliseconds that a photo spent at the device. */
export interface DeviceTimes {
  /** Time in the networks for this photo. Loading them is not included. */
  readonly deviceMs: number;
  /** Time in which the device worked for other photos or loaded a network. `stats.stageMs` does not include it. */
  readonly deviceWaitMs: number;
}

export interface PoolProgress extends DeviceTimes {
  /** The stage that is running; undefined after the last. */
  readonly running: Stage | undefined;
}

export interface PoolGenerated extends Generated, DeviceTimes {
  /** Milliseconds from start to end, without `deviceWaitMs`. */
  readonly engineMs: number;
}

/**
 * Gives other threads and processes of the machine precedence, because a pool may use every core, and an API on the
 * same machine must still respond quickly. On Linux, this lowers the priority of the calling thread and of the threads
 * it starts.
 */
export function lowerPriority(): void {
  if (process.platform !== 'win32') setPriority(10);
}
