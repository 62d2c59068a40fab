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

/** The pool calls this function of a decoder process, for one image at a time. */
export interface DecoderFunctions {
  /** Returns the image as `normalizeImage` makes it. @throws {EngineError} if the image cannot be accepted */
  decode(image: Uint8Array): Uint8Array;
}

/** Exit status of a decoder process that exceeded `maxRssBytes`. */
export const memoryExceededStatus = 90;

/** Exit status of a decoder process that exceeded `maxCpuMs`. */
export const cpuExceededStatus = 91;
