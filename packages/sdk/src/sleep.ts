import { abortable } from './deadline.js';

/** Waits for `ms` or `early`. Returns whether `early` came first. Rejects with the signal's reason when it aborts. */
export async function sleep(ms: number, signal: AbortSignal, early?: Promise<void>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const either = early ? Promise.race([elapsed, early.then(() => true)]) : elapsed;
  return abortable(either, signal).finally(() => clearTimeout(timer));
}
