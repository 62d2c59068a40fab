import { once } from 'node:events';
import { exitCode, Interrupted } from './failure.js';

/** SIGBREAK is Ctrl-Break on Windows. */
const signals = ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const;

/**
 * Runs `work` with a signal that Ctrl-C or SIGTERM aborts with an `Interrupted`. A second Ctrl-C exits immediately.
 *
 * On Windows, a SIGTERM from another process terminates this one without notice. A parent process that has an IPC
 * channel to this process can send the message `shutdown` instead, as PM2 does.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    // Registered until the end, because ora exits the process on SIGINT without another handler.
    if (controller.signal.aborted) process.exit(exitCode.interrupted);
    controller.abort(new Interrupted());
  };
  const receive = (message: unknown) => {
    if (message === 'shutdown') interrupt();
  };
  for (const signal of signals) process.on(signal, interrupt);
  process.on('message', receive);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    process.off('message', receive);
  }
}

/** Resolves when the signal aborts, for commands that run until Ctrl-C. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

const lingerMs = 2_000;

/** Exits within 2 s, even if an open handle keeps the process alive, such as a connection to a hanging database. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}
