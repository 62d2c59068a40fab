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
