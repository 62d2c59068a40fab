import type { MessagePort } from 'node:worker_threads';
import type { Bundle } from '../bundle/load-bundle.js';
import type { ChosenDevice } from '../device/choose-device.js';
import type { Generated, GenerateOptions, Stage } from '../engine.js';
import type { EngineOptions } from '../engine-device.js';
import type { FloatTensor, TensorSpec } from '../network/session.js';
import type { DecodedPhoto } from '../photo/decode.js';
import type { SentError } from '../rpc/sent-error.js';

/** The options that can be sent to a thread. */
export type ThreadOptions = Omit<EngineOptions, 'onWarning'>;

/** The `workerData` of a pipeline thread. */
export interface PipelineData {
  readonly options: ThreadOptions;
  readonly chosen: ChosenDevice;
  /** To the network thread. */
  readonly network: MessagePort;
}

/** Messages from the pool to its network thread. */
export type ToNetworkThread =
  /** The port of a new pipeline thread. */
  { type: 'connect'; port: MessagePort } | { type: 'close' };

/** Messages from the network thread to its pool. */
export type FromNetworkThread =
  | { type: 'opened'; chosen: ChosenDevice }
  | { type: 'failed'; error: SentError }
  /** The device failed and the CPU replaces it. */
  | { type: 'fellBack'; message: string };

/** Messages from the pool to a pipeline thread, which makes one model at a time. */
export type ToPipelineThread =
  | {
      type: 'generate';
      photo: Uint8Array | DecodedPhoto;
      options: Pick<GenerateOptions, 'resolution' | 'maxTriangles' | 'textureSize'>;
    }
  | { type: 'abort' }
  | { type: 'close' };

/** Milliseconds that a photo spent at the device. */
export interface DeviceTimes {
  /** Running networks for this photo, without loading them. */
  readonly deviceMs: number;
  /** Waiting while the device worked for other photos or loaded a network. `stats.stageMs` does not contain it. */
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

/** Messages from a pipeline thread to its pool. */
export type FromPipelineThread =
  | { type: 'opened' }
  | ({ type: 'progress'; fraction: number } & PoolProgress)
  | ({ type: 'generated' } & PoolGenerated)
  | { type: 'failed'; error: SentError };

/** Requests from a pipeline thread to the network thread. The replies come in the same order. */
export type NetworkRequest =
  | {
      type: 'open';
      bundle: Bundle;
      file: string;
      inputs: readonly TensorSpec[];
      outputs: readonly TensorSpec[];
    }
  /** Runs a session that was opened from the file at `path`. */
  | { type: 'run'; path: string; inputs: Readonly<Record<string, FloatTensor>> };

/** Replies of the network thread. `deviceMs`: how long it worked on the request, without the time in its queue. */
export type NetworkReply = { deviceMs: number } & (
  | { type: 'opened'; path: string; shapes: ReadonlyMap<string, TensorSpec['shape']> }
  | { type: 'ran'; outputs: ReadonlyMap<string, Float32Array> }
  | { type: 'failed'; error: SentError }
);
