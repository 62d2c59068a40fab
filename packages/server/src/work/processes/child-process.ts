import { NativePartError } from '@gen3d/engine/bundles';
import type { FromChild, ToChild } from './messages.js';

/** Sends a message to the supervisor. Does nothing if it has exited, because `disconnect` then ends this process. */
export function notifyParent(message: FromChild): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** Runs `start` with the first message, and ends this process when its parent exits. */
export function onStart(start: (message: Extract<ToChild, { type: 'start' }>) => Promise<void>): void {
  // Ctrl-C and Windows' Ctrl-Break reach the whole process group; the parent process decides when to stop.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit(1));
  process.once('message', (message: ToChild) => {
    if (message.type !== 'start') throw new Error(`the first message must be start, not ${message.type}`);
    start(message).catch((error: unknown) => {
      if (error instanceof NativePartError) {
        const failed: FromChild = { type: 'failed', message: error.message };
        process.send?.(failed, undefined, undefined, () => process.exit(1));
        return;
      }
      console.error(error);
      process.exit(1);
    });
  });
}
