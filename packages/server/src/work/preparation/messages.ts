import type { EngineErrorCode } from '@gen3d/engine';

/** Limits of a decoder process. */
export interface DecodeLimits {
  maxPixels: number;
  /** Maximum memory for one image, as estimated from its header. */
  maxMemoryBytes: number;
  /** Maximum memory of the whole process. */
  maxRssBytes: number;
  /** Maximum CPU time for one image. */
  maxCpuMs: number;
}

/** A request to a decoder process. It handles one at a time. */
export interface DecodeRequest {
  bytes: Uint8Array;
}

export type DecodeResponse =
  | { type: 'decoded'; png: Uint8Array }
  /** The image cannot be accepted. */
  | { type: 'refused'; code: EngineErrorCode; message: string }
  /** The cause is a bug or a broken installation. */
  | { type: 'failed'; problem: string };

/** Exit status of a decoder process that exceeded `maxRssBytes`. */
export const memoryExceededStatus = 90;

/** Exit status of a decoder process that exceeded `maxCpuMs`. */
export const cpuExceededStatus = 91;
