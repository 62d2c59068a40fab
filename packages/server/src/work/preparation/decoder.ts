import { createRequire } from 'node:module';
import { setPriority } from 'node:os';
import { Child, forkModule } from '@gen3d/engine/rpc';
import type { DecodeLimits, DecoderFunctions } from './messages.js';

/** Resolved by package name, which works from the built package and from the sources. */
const decoderFile = createRequire(import.meta.url).resolve('@gen3d/server/decoder');

/** The variables that Node and libvips need. All others are left out because they may hold secrets. */
const passedVariables = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TMP', 'TEMP', 'SystemRoot', 'LD_LIBRARY_PATH'];

function environment(): NodeJS.ProcessEnv {
  const entries = passedVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** A child process that decodes one image at a time. */
export type Decoder = Child<DecoderFunctions>;

export function startDecoder(limits: DecodeLimits, niceness: number): Decoder {
  return new Child('image decoder', () => {
    const forked = forkModule(decoderFile, { env: environment() }, [JSON.stringify(limits)]);
    if (forked.pid !== undefined) lowerPriority(forked.pid, niceness);
    return forked;
  });
}

function lowerPriority(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // The process has already ended. Its `exit` event reports that.
  }
}
