import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Readable, Writable } from 'node:stream';
import { EngineError } from '@gen3d/engine/errors';
import { Child } from '@gen3d/rpc';
import { imageSize } from '@gen3d/schema';
import { z } from 'zod';
import { limited } from '../../base/child-process.js';
import { bareEnvironment } from '../../base/environment.js';
import type { RawImage } from '../../data/inputs/stored-image.js';
import { WrongResultError } from '../stage-failures.js';
import {
  type DecodeLimits,
  maxRefusalBytes,
  readExactly,
  responseHeaderBytes,
  responseKinds,
  uint32,
} from './decoder-protocol.js';
import { isPossibleSize } from './possible-size.js';
import type { Sandbox } from './sandbox.js';

/** Decoded images have at most this many pixels a side, as the engine's `decode` scales them. */
const maxSide = 2048;
/** A process may use this much CPU time for all its images. Then the kernel ends it, and another takes its place. */
const processCpuLimits = 4;
/** Writable memory that Node maps before it decodes anything is 92 MB, most of it never used. */
const mappedBytes = 256 * 1024 * 1024;

const Refusal = z.object({
  code: z.enum(['image_invalid', 'image_too_large']),
  message: z.string().max(maxRefusalBytes),
});

/** The package's name finds the module from the built package and from the sources. */
const decoderFile = createRequire(import.meta.url).resolve('@gen3d/server/decoder');

export interface DecoderOptions {
  readonly limits: DecodeLimits;
  readonly niceness: number;
  /** Undefined to run with the rights of this process. */
  readonly sandbox?: Sandbox | undefined;
  /** The module that decodes. Default: gen3d's. */
  readonly file?: string;
}

/** A child process that decodes one image at a time. What it returns is checked like an upload. */
export class Decoder {
  readonly #child: Child<Record<never, never>>;
  readonly #input: Writable | undefined;
  readonly #output: Readable | undefined;

  constructor({ limits, niceness, sandbox, file: module = decoderFile }: DecoderOptions) {
    const own = [module, JSON.stringify(limits), String(niceness)];
    const command = [...(sandbox?.command ?? [process.execPath]), ...own];
    const cpuSeconds = Math.ceil((processCpuLimits * limits.maxCpuMs) / 1_000);
    const [file, ...args] = limited(command, { cpuSeconds, memoryBytes: limits.maxRssBytes + mappedBytes });
    let started: ChildProcessByStdio<Writable, Readable, null> | undefined;
    this.#child = new Child('image decoder', () => {
      const env = bareEnvironment();
      started = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'inherit'], detached: sandbox !== undefined });
      return started;
    });
    this.#input = started?.stdin;
    this.#output = started?.stdout;
    // A write fails only if the process has ended, which its exit reports.
    this.#input?.on('error', () => {});
    this.#output?.on('error', () => {});
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.hasEnded;
  }

  /** Ends the process at once. */
  kill(): void {
    void this.#child.kill();
  }

  /**
   * @throws {EngineError} if the image cannot be accepted
   * @throws {WrongResultError} if the response is not an image that `image` can contain; the process has been ended
   * @throws {ExitError} if the process ends or takes longer than `timeoutMs`, which also ends it
   */
  async decode(image: Uint8Array, timeoutMs: number): Promise<RawImage> {
    return this.#child.withDeadline(timeoutMs, async () => {
      try {
        return await this.#request(image);
      } catch (error) {
        if (error instanceof EngineError) throw error;
        this.kill();
        // The end of the output comes shortly before that of the process.
        if (!(error instanceof WrongResultError)) throw await this.#child.ended;
        throw error;
      }
    });
  }

  async #request(image: Uint8Array): Promise<RawImage> {
    const output = this.#output;
    if (!output || !this.#input) throw await this.#child.ended;
    if (output.readableLength > 0) throw new WrongResultError('it sent more than one response');
    this.#input.write(uint32(image.length));
    this.#input.write(image);
    const header = await readExactly(output, responseHeaderBytes);
    const [kind, first, second] = [header.readUInt8(0), header.readUInt32BE(1), header.readUInt32BE(5)];
    if (kind === responseKinds.refused) {
      if (first > maxRefusalBytes) throw new WrongResultError('its error is too long');
      throw refusalIn(await readExactly(output, first));
    }
    if (kind !== responseKinds.rgb && kind !== responseKinds.rgba)
      throw new WrongResultError('its response is unknown');
    const size = { width: first, height: second };
    const expected = imageSize(image);
    if (
      Math.min(first, second) < 1 ||
      Math.max(first, second) > maxSide ||
      (expected && !isPossibleSize(size, expected, maxSide))
    ) {
      throw new WrongResultError(`an image of ${first} x ${second} pixels cannot be in this file`);
    }
    return { ...size, channels: kind, pixels: await readExactly(output, first * second * kind) };
  }
}

function refusalIn(text: Buffer): Error {
  let refusal: unknown;
  try {
    refusal = JSON.parse(text.toString());
  } catch {
    // Not JSON, which the schema refuses as well.
  }
  const { data } = Refusal.safeParse(refusal);
  return data ? new EngineError(data.code, data.message) : new WrongResultError('its error is unknown');
}
