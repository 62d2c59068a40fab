import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { ErrorBody } from '@gen3d/schema';
import type { Express, RequestHandler } from 'express';

/**
 * This many take about 40 MB of memory if all are idle. A proxy or a few hundred clients open far fewer, and it is
 * within the 4,096 open files that most systems allow a process.
 */
const maxConnections = 2_048;

/**
 * Creates Node's HTTP server, with limits on the number of connections, and on the time for a request.
 *
 * Its messages are created with the prototypes that Express otherwise sets on each instance: V8 does not optimize
 * access to objects whose prototype has changed, which would double the time of a short response.
 */
export function createHttpServer(app: Express): Server {
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage> extends ServerResponse<R> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request);
  app.response = Object.setPrototypeOf(Response.prototype, app.response);
  const server = createServer(
    {
      IncomingMessage: Request,
      ServerResponse: Response,
      // Slow clients have 10 s for the headers and a minute for the largest body. Node checks every 30 s by default.
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 5_000,
      keepAliveTimeout: 65_000,
      requireHostHeader: false,
    },
    oneRequestAtATime(app),
  );
  server.maxConnections = maxConnections;
  server.on('clientError', refuseMalformedRequest);
  // Ignore an unknown expectation instead of responding with an empty 417.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}

/** Responses by the code of Node's HTTP parser. Any other code gets a plain 400. */
const refusals: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are larger than this server accepts'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The chunk extensions are larger than this server accepts'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
};

/**
 * Responds to a request that Node could not read: malformed, too large or too slow. Node itself would send an empty
 * body, and all errors of the contract have one.
 */
function refuseMalformedRequest(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // In the middle of another response, these bytes would become a part of it. Node's own handler checks the same field.
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) return void socket.destroy();
  const [status, message] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'This is not an HTTP request'];
  const body = JSON.stringify({ error: { code: 'invalid_request', message } } satisfies ErrorBody);
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy());
}

/**
 * Lets a connection that ends with the response receive the rest of the body first: closing it while data arrives
 * resets it, and the client would lose the response (RFC 9112, 9.6). Node limits the time for the body.
 */
export const receiveWholeBody: RequestHandler = (request, response, next) => {
  const { socket } = request;
  const close = () => Socket.prototype.destroySoon.call(socket);
  // Before Node's own listener, which calls `destroySoon` after the last response of a connection. Setting it on every
  // request would let sockets, which are old, keep young requests alive, and double the CPU time of a short response.
  response.prependOnceListener('finish', () => {
    if (request.complete) return;
    socket.destroySoon = () => {
      if (request.complete) return close();
      socket.end();
      request.once('close', close);
    };
  });
  next();
};

/** Requests that a client may send on one connection before it has received the first response. */
const maxWaiting = 16;

/**
 * Handles the requests of a connection one after the other. Node handles pipelined requests concurrently: a client that
 * sends hundreds of them and reads nothing would occupy megabytes, and when it disconnects, the waiting responses never
 * close, nor do their files.
 */
export function oneRequestAtATime(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    const handle = () => {
      // The guards and a pipeline all listen for its end. From 11 listeners on, Node would warn of a leak.
      response.setMaxListeners(20);
      response.once('close', () => {
        const next = waiting.get(socket)?.shift();
        if (!next) waiting.delete(socket);
        else if (!socket.destroyed) next();
      });
      listener(request, response);
    };
    const queue = waiting.get(socket);
    if (!queue) {
      waiting.set(socket, []);
      handle();
    } else if (queue.length < maxWaiting) queue.push(handle);
    else socket.destroy();
  };
}
