import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Express } from 'express';
import { messageClasses } from './message-classes.js';
import { oneRequestAtATime } from './one-request-at-a-time.js';
import { refuseMalformed } from './refuse-malformed.js';
import { dropSlowReaders } from './slow-readers.js';

/**
 * Connections at once, about 40 MB of memory when all are idle: far more than a proxy or a few hundred clients open, and
 * within the 4,096 files that a process may have open on most systems.
 */
const maxConnections = 2_048;
/** Of these, connections that have not sent a request yet. With more, the oldest is closed: real clients send one at once. */
const maxSilentConnections = 1_024;

/** Node's HTTP server with `app` behind it, and with limits on what a connection may cost. */
export function createHttpServer(app: Express): Server {
  const listener = oneRequestAtATime(app);
  const server = createServer(
    {
      ...messageClasses(app),
      // Slow clients are cut off: 10 s for the headers, a minute for the largest body. Node's default is to check every 30 s.
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 5_000,
      keepAliveTimeout: 65_000,
      requireHostHeader: false,
    },
    listener,
  );
  server.maxConnections = maxConnections;
  // Connections that are only kept warm make room for new ones.
  server.on('drop', () => server.closeIdleConnections());
  server.on('clientError', refuseMalformed);
  // Ignore an unknown expectation instead of responding with an empty 417.
  server.on('checkExpectation', listener);
  dropSlowReaders(server);
  closeSilent(server, maxSilentConnections);
  return server;
}

/** Keeps clients that connect and send nothing from taking all connections. */
export function closeSilent(server: Server, max: number): void {
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
    const [oldest] = silent;
    if (silent.size > max) oldest?.destroy();
  });
  server.on('request', ({ socket }) => silent.delete(socket));
}
