import { availableParallelism, constants } from 'node:os';
import { EngineError, needsTooMuchMemory } from '@gen3d/engine/errors';
import { ExitError } from '@gen3d/rpc';
import { Shares } from '../../base/shares.js';
import type { RawImage } from '../../data/inputs/stored-image.js';
import { JobFailure } from '../../data/jobs/failures.js';
import { TemporaryFailure, WrongResultError } from '../stage-failures.js';
import { Decoder, type DecoderOptions } from './decoder.js';
import { cpuExceededStatus, memoryExceededStatus } from './decoder-protocol.js';
import { type Sandbox, sandboxProblem } from './sandbox.js';

const mebibyte = 1024 * 1024;
/** An unused decoder process ends after this time. One always stays: starting it takes longer than decoding a photo. */
const idleMs = 30_000;

export interface LaneOptions extends DecoderOptions {
  /** Maximum number of images that are decoded concurrently. */
  size: number;
  /** Time limit for a response. Much longer than an image takes, even on a busy machine. */
  timeoutMs: number;
  /** Lets a process decode several images of an account. Otherwise it ends after each, which returns all its memory. */
  reuse: boolean;
}

/**
 * Images of up to 32 megapixels, several at a time: together at most 128 megapixels. Inference runs with niceness 10 as
 * well, so a photo from a phone is decoded within a second even on a busy machine.
 */
const ordinary: LaneOptions = {
  limits: { maxPixels: 32e6, maxMemoryBytes: 128 * mebibyte, maxRssBytes: 384 * mebibyte, maxCpuMs: 30_000 },
  size: Math.min(4, Math.max(2, availableParallelism())),
  timeoutMs: 5 * 60_000,
  niceness: 10,
  reuse: true,
};

/** Larger images are decoded one at a time in processes of their own, so that they never delay ordinary ones. */
const large: LaneOptions = {
  // The estimate for a WebP or GIF of 100 megapixels is 400 or 500 MB. The process itself takes 70 MB, copies of the
  // file up to 75 MB.
  limits: { maxPixels: 100e6, maxMemoryBytes: 512 * mebibyte, maxRssBytes: 768 * mebibyte, maxCpuMs: 60_000 },
  size: 1,
  timeoutMs: 5 * 60_000,
  niceness: 15,
  reuse: false,
};

/** Decodes untrusted images in child processes, each with limits on memory and time. */
export class DecoderPool {
  readonly #ordinary: Lane;
  readonly #large: Lane;

  constructor(lanes: { ordinary?: Partial<LaneOptions>; large?: Partial<LaneOptions> } = {}, sandbox?: Sandbox) {
    this.#ordinary = new Lane({ ...ordinary, sandbox, ...lanes.ordinary });
    this.#large = new Lane({ ...large, sandbox, ...lanes.large });
  }

  /**
   * Resolves with the image as upright sRGB with 8 bits per channel and sides of at most 2048 pixels, with alpha if it
   * is needed. Accounts take turns.
   * @throws {JobFailure} image_invalid or image_too_large
   * @throws {TemporaryFailure} when no process can be started
   */
  async decode(image: Uint8Array, accountId: string, signal: AbortSignal): Promise<RawImage> {
    try {
      return await decodeIn(this.#ordinary, image, accountId, signal);
    } catch (error) {
      if (!(error instanceof JobFailure && error.code === 'image_too_large')) throw error;
      return decodeIn(this.#large, image, accountId, signal);
    }
  }

  /** Starts a process before the first image arrives. */
  warmUp(): void {
    this.#ordinary.warmUp();
  }

  /** The processes that exist at the moment. */
  get pids(): number[] {
    return [...this.#ordinary.pids, ...this.#large.pids];
  }

  /** Ends all processes. */
  stop(): void {
    this.#ordinary.stop();
    this.#large.stop();
  }
}

const crashed = 'The image decoder crashed on this image.';
const advice = 'Save it again, for example as a PNG or JPEG.';

async function decodeIn(lane: Lane, image: Uint8Array, accountId: string, signal: AbortSignal): Promise<RawImage> {
  for (let isRetry = false; ; isRetry = true) {
    try {
      return await lane.decode(image, accountId, signal);
    } catch (error) {
      if (error instanceof EngineError) throw new JobFailure(error.code, error.message);
      if (error instanceof WrongResultError) {
        if (isRetry) throw new JobFailure('image_invalid', `${crashed} ${advice}`, { cause: error });
        continue;
      }
      if (!(error instanceof ExitError)) throw error;
      await throwFinal(error, lane.options, isRetry);
    }
  }
}

/** Throws what the end of a decoder process means for its image. Returns if the image may be tried again. */
async function throwFinal(exit: ExitError, { limits, sandbox }: LaneOptions, isRetry: boolean): Promise<void> {
  const { maxMemoryBytes, maxCpuMs } = limits;
  const { code, signal } = exit;
  if (exit.timedOut) throw exit;
  if (code === null && signal === null) throw new TemporaryFailure('no image decoder process can be started');
  if (code === memoryExceededStatus) throw new JobFailure('image_too_large', needsTooMuchMemory(maxMemoryBytes));
  if (code === cpuExceededStatus) {
    // CPU time, because wall-clock time depends on the load of the machine.
    const message = `Decoding the image took more than ${maxCpuMs / 1_000} s of CPU time. ${advice}`;
    throw new JobFailure('image_invalid', message);
  }
  if (!isRetry) return;
  // With this status, bubblewrap reports that it could not start the decoder.
  const problem = sandbox && code === 1 && (await sandboxProblem(sandbox));
  if (problem) throw new TemporaryFailure(`no image decoder can be started: ${problem}`);
  // The operator may have killed it, or the kernel for lack of memory. This image need not be the cause.
  if (isKill('SIGKILL', exit) || isKill('SIGTERM', exit)) throw new Error('the image decoder was killed twice');
  throw new JobFailure('image_invalid', `${crashed} ${advice}`);
}

/** Recognizes a signal also as bubblewrap and shells report it, as 128 plus its number. */
const isKill = (name: 'SIGKILL' | 'SIGTERM', { code, signal }: ExitError): boolean =>
  signal === name || code === 128 + constants.signals[name];

/** Decoder processes with the same limits. Accounts take turns, and an account's images wait in order of arrival. */
class Lane {
  readonly #decoders = new Map<Decoder, NodeJS.Timeout | undefined>();
  /** The account whose images a process decodes. If one took it over, it must not get images of other accounts. */
  readonly #accounts = new WeakMap<Decoder, string>();
  readonly #places: Shares;

  constructor(readonly options: LaneOptions) {
    this.#places = new Shares({ total: options.size, guaranteed: options.size });
  }

  get pids(): number[] {
    return [...this.#decoders.keys()].flatMap(({ pid }) => pid ?? []);
  }

  async decode(image: Uint8Array, accountId: string, signal: AbortSignal): Promise<RawImage> {
    const place = await this.#places.wait(accountId, signal);
    try {
      const decoder = this.#take(accountId);
      this.#accounts.set(decoder, accountId);
      return await decoder.decode(image, this.options.timeoutMs).finally(() => this.#giveBack(decoder));
    } finally {
      place.end();
    }
  }

  warmUp(): void {
    this.#giveBack(this.#take());
  }

  stop(): void {
    for (const decoder of this.#decoders.keys()) this.#stop(decoder);
  }

  #take(accountId?: string): Decoder {
    for (const [decoder, idleTimer] of this.#decoders) {
      if (idleTimer === undefined) continue;
      clearTimeout(idleTimer);
      if (decoder.hasEnded || (this.#accounts.get(decoder) ?? accountId) !== accountId) {
        this.#stop(decoder);
        continue;
      }
      this.#decoders.set(decoder, undefined);
      return decoder;
    }
    const decoder = new Decoder(this.options);
    this.#decoders.set(decoder, undefined);
    return decoder;
  }

  #giveBack(decoder: Decoder): void {
    if (decoder.hasEnded) this.#decoders.delete(decoder);
    else if (this.options.reuse) this.#keepWhileIdle(decoder);
    else this.#stop(decoder);
  }

  #keepWhileIdle(decoder: Decoder): void {
    const check = () => (this.#decoders.size > 1 ? this.#stop(decoder) : this.#keepWhileIdle(decoder));
    this.#decoders.set(decoder, setTimeout(check, idleMs).unref());
  }

  #stop(decoder: Decoder): void {
    clearTimeout(this.#decoders.get(decoder));
    this.#decoders.delete(decoder);
    decoder.kill();
  }
}
