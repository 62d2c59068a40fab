import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { setPriority } from 'node:os';
import {
  cpuExceededStatus,
  type DecodeLimits,
  type DecodeRequest,
  type DecodeResponse,
  memoryExceededStatus,
} from './messages.js';

/** Resolved by package name, which works from the built package and from the sources. */
const decoderFile = createRequire(import.meta.url).resolve('@gen3d/server/decoder');

/** The variables that Node and libvips need. All others are left out because they may hold secrets. */
const passedVariables = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TMP', 'TEMP', 'SystemRoot', 'LD_LIBRARY_PATH'];

function environment(): NodeJS.ProcessEnv {
  const entries = passedVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Why a decoder process ended before it responded. */
export type DecoderEnd = 'crashed' | 'killed' | 'memory exceeded' | 'CPU time exceeded' | 'timed out' | 'not started';

export type DecodeOutcome = DecodeResponse | { type: 'ended'; reason: DecoderEnd };

/** A child process that decodes one image at a time. */
export class Decoder {
  readonly #child: ChildProcess;
  #hasEnded = false;
  #timedOut = false;
  #settle: (outcome: DecodeOutcome) => void = () => {};

  /** @throws when the process cannot be forked */
  constructor(limits: DecodeLimits, niceness: number) {
    this.#child = fork(decoderFile, [JSON.stringify(limits)], {
      env: environment(),
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    if (this.#child.pid !== undefined) lowerPriority(this.#child.pid, niceness);
    this.#child.on('message', (response: DecodeResponse) => this.#settle(response));
    this.#child.on('error', () => {
      if (this.#child.pid === undefined) this.#end('not started');
    });
    this.#child.on('exit', (code, signal) => {
      if (this.#timedOut) this.#end('timed out');
      else if (code === memoryExceededStatus) this.#end('memory exceeded');
      else if (code === cpuExceededStatus) this.#end('CPU time exceeded');
      else if (signal === 'SIGKILL' || signal === 'SIGTERM') this.#end('killed');
      else this.#end('crashed');
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves with the response, or with why the process ended. Ends it when it takes longer than `timeoutMs`. */
  async decode(bytes: Uint8Array, timeoutMs: number): Promise<DecodeOutcome> {
    const timer = setTimeout(() => {
      this.#timedOut = true;
      this.stop();
    }, timeoutMs);
    try {
      return await new Promise<DecodeOutcome>((resolve) => {
        this.#settle = resolve;
        const request: DecodeRequest = { bytes };
        // After an error here, the process exits, which settles the promise.
        this.#child.send(request, () => {});
      });
    } finally {
      clearTimeout(timer);
      this.#settle = () => {};
    }
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  #end(reason: DecoderEnd): void {
    this.#hasEnded = true;
    this.#settle({ type: 'ended', reason });
  }
}

function lowerPriority(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // The process has already ended. Its `exit` event reports that.
  }
}
