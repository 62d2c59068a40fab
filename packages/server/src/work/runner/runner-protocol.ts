import type { EngineOptions, GenerateOptions } from '@gen3d/engine';
import type { ExitError } from '@gen3d/rpc';
import { warningMessages } from '@gen3d/schema';
import { type PhotoSide, sniffFileType } from '@gen3d/schema/rules';
import { z } from 'zod';
import type { RawImage } from '../../data/inputs/stored-image.js';
import type { JobOptions } from '../../data/jobs/job-options.js';
import { WrongResultError } from '../stage-failures.js';

// The calls between the worker and a runner process. The runner handles users' photos in native code, so a photo may
// have taken it over. Everything that it returns is therefore checked like an upload. It makes no decisions, and gets
// no ids of jobs.

const mebibyte = 1024 ** 2;
export const maxModelBytes = 64 * mebibyte;
const maxThumbnailBytes = 4 * mebibyte;
const glbHeaderBytes = 20;

/** The stages of the engine, in order. */
const engineStages = ['matte', 'frame', 'encode', 'field', 'surface', 'unwrap', 'bake', 'thumbnail', 'write'] as const;
const EngineStage = z.enum(engineStages);
const Milliseconds = z.number().min(0).max(1e9);
const file = (maxBytes: number, hasKind: (bytes: Uint8Array) => boolean) =>
  z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length <= maxBytes && hasKind(value));

/** Whether a file begins as a GLB of its length with JSON in its first chunk. */
function isGlb(bytes: Uint8Array): boolean {
  if (bytes.length < glbHeaderBytes) return false;
  const header = new DataView(bytes.buffer, bytes.byteOffset, glbHeaderBytes);
  const [magic, version, length, jsonBytes, chunkType] = [0, 4, 8, 12, 16].map((at) => header.getUint32(at, true));
  const isWhole = length === bytes.length && jsonBytes! <= bytes.length - glbHeaderBytes;
  return magic === 0x46546c67 && version === 2 && isWhole && chunkType === 0x4e4f534a;
}

export const Made = z.object({
  glb: file(maxModelBytes, isGlb),
  thumbnail: file(maxThumbnailBytes, (bytes) => sniffFileType(bytes) === 'jpeg'),
  transparentThumbnail: file(maxThumbnailBytes, (bytes) => sniffFileType(bytes) === 'webp'),
  /** Time from start to end without waiting for the device, and the part of it on the device. */
  engineMs: Milliseconds,
  deviceMs: Milliseconds,
  stats: z.object({
    bundle: z.string().max(200),
    warnings: z.array(z.enum(Object.keys(warningMessages))).max(10),
    outlineOverlap: z.number().optional(),
    stageMs: z.partialRecord(EngineStage, Milliseconds),
  }),
  /** Memory of the process. Undefined for a model server. */
  rssBytes: z.number().optional(),
});
export type Made = z.infer<typeof Made>;

/** The device and the bundle that a runner has opened. */
export const Opened = z.object({
  provider: z.string().max(32),
  /** The name of the GPU. Undefined for the CPU. */
  adapter: z.string().max(200).optional(),
  rejected: z.array(z.object({ provider: z.string().max(32), problem: z.string().max(10_000).optional() })).max(20),
  /** Approximate seconds per photo, if the bundle is designed for GPUs and runs on the CPU. */
  expectedSeconds: z.number().optional(),
});
export type Opened = z.infer<typeof Opened>;

export const Progress = z.object({
  id: z.number(),
  fraction: z.number().min(0).max(1),
  /** The stage that is running; undefined after the last. */
  running: EngineStage.optional(),
  /** Time in which the device worked for other photos. */
  deviceWaitMs: Milliseconds,
});
export type Progress = z.infer<typeof Progress>;

/** @throws {WrongResultError} if a child has returned something else */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (error) throw new WrongResultError(`The result of a child process is wrong. ${z.prettifyError(error)}`);
  return data as T;
}

export type EngineSettings = Omit<EngineOptions, 'onWarning'> & { readonly pipelines: number };

/** A decoded photo of one side of an object. */
export interface SidePhoto {
  readonly side: PhotoSide;
  readonly image: RawImage;
}

/** Undefined values have the defaults of the engine. */
export type MeshOptions = Pick<GenerateOptions, 'resolution' | 'maxTriangles' | 'textureSize' | 'sampler'>;

/** The worker calls these functions of a runner. */
export interface RunnerFunctions {
  /** Chooses the device and loads the networks. Must be called first. @throws {BundleError} as `Engine.open` does */
  open(settings: EngineSettings): Opened;
  /** Makes a model of an object. @throws {EngineError} if the photo of its front cannot be used */
  generate(request: { id: number; photos: readonly SidePhoto[]; options: MeshOptions }): Made;
  /** Responds at once, unless the process hangs. */
  ping(): void;
}

/** A runner calls these functions of its worker. */
export interface RunnerObserver {
  progress(progress: Progress): void;
  /** Called when the CPU replaces a device that failed. */
  fellBack(message: string): void;
}

export interface MakeOptions extends MeshOptions {
  /** Options for a model server. */
  options?: JobOptions | undefined;
  onProgress?: (fraction: number, running: z.infer<typeof EngineStage> | undefined) => void;
  signal?: AbortSignal;
}

/** Makes models: a runner process, or a model server. */
export interface ModelMaker {
  /** @param photos of different sides of one object; the first is of its front */
  generate(photos: readonly SidePhoto[], options: MakeOptions): Promise<Made>;
  /** Returns why it makes no models at the moment. A `TemporaryFailure` may pass. */
  probe?(): Promise<Error | undefined>;
  /** How many photos it takes at a time, if it does not depend on this machine. */
  readonly concurrency?: number;
  /** Resolves when it can make no more models. */
  readonly ended: Promise<ExitError>;
  /** The id of its process. */
  readonly pid: number | undefined;
  kill(): void;
}
