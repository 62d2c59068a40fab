import type { FromRunner, ToRunner } from './messages.js';

/** Sends a message to the server, unless that has exited; then 'disconnect' ends this process. */
export function notifyParent(message: FromRunner): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** Runs `start` with the first message, and ends this process when its parent exits. */
export function onStart(start: (message: Extract<ToRunner, { type: 'start' }>) => Promise<void>): void {
  // Ctrl-C reaches the whole process group; the parent process decides when to stop.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.on('disconnect', () => process.exit(1));
  process.once('message', (message: ToRunner) => {
    if (message.type !== 'start') throw new Error(`the first message must be start, not ${message.type}`);
    start(message).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
}
