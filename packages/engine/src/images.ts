// Reading images. This entry point loads no inference runtime, so a process that only decodes stays small.
import { sharp } from './base/sharp.js';

export { EngineError, type EngineErrorCode } from './base/errors.js';
export {
  type DecodedPhoto,
  type DecodeOptions,
  decode,
  type ImageHeader,
  readHeader,
} from './photo/decode.js';

/** Configures the image library of this process for one untrusted image at a time: one thread, and no cache. */
export function configureForOneImage(): void {
  sharp.cache(false);
  sharp.concurrency(1);
}
