/** Ignores the signals of Ctrl-C, Windows' Ctrl-Break and systemd, which reach the whole process group. */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const) process.on(signal, () => {});
}
