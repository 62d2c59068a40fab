import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that a client may send on one connection before it has the response to the first one. */
const maxWaiting = 16;

/**
 * Handles the requests of a connection one after the other. Node starts the handlers of pipelined requests at once: a client
 * that sends hundreds and reads nothing would pin megabytes, and when it leaves, the responses that were waiting for their
 * turn never close, nor do their files.
 */
export function oneRequestAtATime(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    const handle = () => {
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
