import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';

/** Keeps clients that connect and send nothing from taking all connections: closes the oldest if there are over `max`. */
export function closeSilentConnections(server: Server, max: number): void {
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
    const [oldest] = silent;
    if (silent.size > max) oldest?.destroy();
  });
  server.on('request', ({ socket }) => silent.delete(socket));
}

/**
 * Closes connections whose client still sends a body `graceMs` after the response. Node keeps reading, so that the
 * client receives the response and can reuse the connection; without a limit, a refused request could keep the server
 * busy.
 */
export function closeUnreadBodies(graceMs: number): RequestHandler {
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (coding === undefined && (length === undefined || length === '0')) return next();
    response.once('finish', () => {
      if (request.complete) return;
      const timer = setTimeout(() => request.socket.destroy(), graceMs);
      request.once('close', () => clearTimeout(timer));
    });
    next();
  };
}

export interface SlowReaderLimits {
  /** How much of a waiting response a client must receive within `windowMs`. */
  minBytes: number;
  windowMs: number;
  /** Time between checks of all connections. */
  checkMs: number;
}

/**
 * 1 KiB/s, averaged over a minute: even a phone with poor reception is faster. Files are sent in parts of 64 KiB, so
 * less than that could not be measured.
 */
const defaultLimits: SlowReaderLimits = { minBytes: 64 * 1024, windowMs: 60_000, checkMs: 5_000 };

/**
 * Closes connections whose client receives a response too slowly. Node's timeouts cover only requests and connections
 * without any traffic, so a client could otherwise occupy a response, and an open file, for days.
 */
export function closeSlowReaders(server: Server, limits: Partial<SlowReaderLimits> = {}): void {
  const { minBytes, windowMs, checkMs } = { ...defaultLimits, ...limits };
  const windows = new Map<Socket, { startedAt: number; receivedBefore: number }>();
  server.on('connection', (socket: Socket) => {
    windows.set(socket, { startedAt: performance.now(), receivedBefore: 0 });
    socket.once('close', () => windows.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, { startedAt, receivedBefore }] of windows) {
      const waiting = socket.writableLength;
      const received = socket.bytesWritten - waiting;
      // If nothing is waiting, the client has received everything, and any delay is the server's.
      if (waiting === 0 || received - receivedBefore >= minBytes) {
        windows.set(socket, { startedAt: now, receivedBefore: received });
      } else if (now - startedAt > windowMs) socket.destroy();
    }
  }, checkMs);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}
