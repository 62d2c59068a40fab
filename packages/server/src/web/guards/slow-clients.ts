import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import { clientOf } from './client-address.js';

/**
 * Keeps room for new connections: while there are more than `max`, closes connections that wait for their client, the
 * oldest of the client that has most of them. Such a client has sent no request or only a part of one, is idle, or has
 * not read its response. A client that opens many connections thus loses its own first. A client behind a proxy is the
 * one that the proxy names. The new connection is never closed. There are always others to close if `max` exceeds the
 * number of requests that may be in progress.
 */
export function evictWaitingConnections(server: Server, max: () => number): void {
  /** The latest request of each connection, in the order of these requests. */
  const exchanges = new Map<Socket, { response?: ServerResponse; client?: string }>();

  function evict(newcomer: Socket): void {
    const byClient = new Map<string, Socket[]>();
    let most: Socket[] = [];
    for (const [socket, exchange] of exchanges) {
      const { response } = exchange;
      if (socket === newcomer || (response && !waitsForClient(response))) continue;
      exchange.client ??= clientOf(response?.req ?? { socket, headers: {} });
      const sockets = byClient.get(exchange.client) ?? [];
      sockets.push(socket);
      byClient.set(exchange.client, sockets);
      if (sockets.length > most.length) most = sockets;
    }
    // Several at once, because each search reads all connections.
    for (const socket of most.slice(0, Math.ceil(most.length / 16))) socket.destroy();
  }

  server.on('connection', (socket: Socket) => {
    exchanges.set(socket, {});
    socket.once('close', () => exchanges.delete(socket));
    if (exchanges.size > max()) evict(socket);
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (exchanges.delete(socket)) exchanges.set(socket, { response });
  });
}

/** Whether a request waits for its client: to send the rest of it, or to receive the response. */
export const waitsForClient = ({ req, writableEnded, socket }: ServerResponse): boolean =>
  !req.complete || writableEnded || (socket?.writableLength ?? 0) > 0;

/**
 * Closes connections whose client still sends a body `graceMs` after the response. Node keeps reading, so that the
 * client receives the response and can reuse the connection; without a limit, a refused request could keep the server
 * busy. A connection that ends with the response is closed after the body, too: closing it while data arrives resets it,
 * and the client would lose the response (RFC 9112, 9.6).
 */
export function closeUnreadBodies(graceMs: number): RequestHandler {
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (coding === undefined && (length === undefined || length === '0')) return next();
    const { socket } = request;
    const close = () => Socket.prototype.destroySoon.call(socket);
    // Node calls this after the last response of a connection.
    socket.destroySoon = () => (request.complete ? close() : void socket.end());
    response.once('finish', () => {
      if (request.complete) return;
      const timer = setTimeout(() => socket.destroy(), graceMs);
      request.once('close', () => {
        clearTimeout(timer);
        if (socket.writableEnded) close();
      });
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
