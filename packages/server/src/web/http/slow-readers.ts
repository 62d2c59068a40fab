import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface SlowReaderLimits {
  /** How much a client must take of a waiting response within `windowMs`. */
  minBytes: number;
  windowMs: number;
  /** How often connections are looked at. */
  checkMs: number;
}

/**
 * 1 KiB/s, averaged over a minute: a phone at the edge of its network takes more, and a client that reads a byte at a time
 * is gone after a minute. Files are sent in parts of 64 KiB, and a smaller step could not be seen.
 */
const defaultLimits: SlowReaderLimits = { minBytes: 64 * 1024, windowMs: 60_000, checkMs: 5_000 };

/**
 * Closes connections whose client takes a response too slowly. Node's timeouts are for requests and for connections without
 * any traffic; without this, a client may keep a response, and an open file, for days.
 */
export function dropSlowReaders(server: Server, limits: Partial<SlowReaderLimits> = {}): void {
  const { minBytes, windowMs, checkMs } = { ...defaultLimits, ...limits };
  const windows = new Map<Socket, { startedAt: number; takenBefore: number }>();
  server.on('connection', (socket: Socket) => {
    windows.set(socket, { startedAt: performance.now(), takenBefore: 0 });
    socket.once('close', () => windows.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, { startedAt, takenBefore }] of windows) {
      const waiting = socket.writableLength;
      const taken = socket.bytesWritten - waiting;
      // With nothing waiting, the client has taken all there was, and any delay is ours.
      if (waiting === 0 || taken - takenBefore >= minBytes) windows.set(socket, { startedAt: now, takenBefore: taken });
      else if (now - startedAt > windowMs) socket.destroy();
    }
  }, checkMs);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}
