import { createRequire } from 'node:module';
import { Child, forkModule } from '@gen3d/engine/rpc';
import type { DecodeLimits, DecoderFunctions } from './messages.js';
import { decoderEnvironment, type Sandbox } from './sandbox.js';

/** The package's name finds the module from the built package and from the sources. */
const decoderFile = createRequire(import.meta.url).resolve('@gen3d/server/decoder');

/** A child process that decodes one image at a time. */
export type Decoder = Child<DecoderFunctions>;

export function startDecoder(limits: DecodeLimits, niceness: number, sandbox?: Sandbox): Decoder {
  const options = { env: decoderEnvironment(), ...sandbox };
  return new Child('image decoder', () => forkModule(decoderFile, options, [JSON.stringify(limits), String(niceness)]));
}
