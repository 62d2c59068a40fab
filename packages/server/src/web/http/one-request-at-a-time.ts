import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

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
