import { once } from 'node:events';
import { exitCode, Interrupted } from './failure.js';

/**
 * Runs `work` with a signal that Ctrl-C or SIGTERM aborts, so that it can leave tidily; a second Ctrl-C ends at once.
 *
 * The signal's reason, and so what aborted calls reject with, is an `Interrupted`.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    // Stays registered until the end: ora's own handler kills the process when it finds itself alone.
    if (controller.signal.aborted) process.exit(exitCode.interrupted);
    controller.abort(new Interrupted());
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

/** Resolves when the signal is aborted: for commands that run until they are told to stop. */
export async function stopped(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

const lingerMs = 2_000;

/**
 * Ends the process soon, even if something keeps it alive, such as a connection to a database that does not respond.
 */
export function endDespiteLeftovers(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}
