import { createServer, type Server } from 'node:http';
import type { Express } from 'express';
import { messageClasses } from './message-classes.js';
import { refuseMalformed } from './refuse-malformed.js';
import { dropSlowReaders } from './slow-readers.js';

/**
 * Connections at once, about 40 MB of memory when all are idle: far more than a proxy or a few hundred clients open, and
 * within the 4,096 files that a process may have open on most systems.
 */
const maxConnections = 2_048;

/** Node's HTTP server with `app` behind it, and with limits on what a connection may cost. */
export function createHttpServer(app: Express): Server {
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
    app,
  );
  server.maxConnections = maxConnections;
  // Connections that are only kept warm make room for new ones.
  server.on('drop', () => server.closeIdleConnections());
  server.on('clientError', refuseMalformed);
  // An unknown expectation is no reason to respond with an empty 417.
  server.on('checkExpectation', app);
  dropSlowReaders(server);
  return server;
}
