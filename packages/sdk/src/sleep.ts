import { abortable } from './deadline.js';

/** Resolves after `ms`, or with `early`. Rejects with the signal's reason when it aborts. */
export async function sleep(ms: number, signal: AbortSignal, early?: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await abortable(Promise.race(early ? [elapsed, early] : [elapsed]), signal).finally(() => clearTimeout(timer));
}
