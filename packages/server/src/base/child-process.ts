import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Ignores the signals of Ctrl-C, Windows' Ctrl-Break and systemd, which reach the whole process group. */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const) process.on(signal, () => {});
}

/** Gives other processes precedence. When memory is short, the kernel ends this process first. */
export function yieldToOthers(niceness: number): void {
  setPriority(niceness);
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // There is no /proc, or it is read-only, as in the sandbox.
  }
}

/**
 * Wraps a command in a shell that sets limits of the kernel, then becomes it. Node reserves far more address space than
 * it uses, so the limit is on writable memory (RLIMIT_DATA). A system without one of these limits ignores it.
 */
export function limited(
  command: readonly string[],
  { cpuSeconds, memoryBytes }: { cpuSeconds: number; memoryBytes: number },
): [file: string, ...args: string[]] {
  const [file = '', ...args] = command;
  if (process.platform === 'win32') return [file, ...args];
  const script = 'ulimit -t "$1" 2>/dev/null; ulimit -d "$2" 2>/dev/null; shift 2; exec "$@"';
  return ['/bin/sh', '-c', script, 'sh', String(cpuSeconds), String(Math.ceil(memoryBytes / 1024)), file, ...args];
}
