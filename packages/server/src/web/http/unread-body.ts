import type { RequestHandler } from 'express';

/**
 * Cuts off who goes on sending a body after the answer. Node reads on, so that the client gets to see the answer and the
 * connection can be used again; without an end to that, a refused request is a way to keep the server busy.
 */
export function cutOffUnreadBody(graceMs: number): RequestHandler {
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (coding === undefined && (length === undefined || length === '0')) return next();
    response.once('finish', () => {
      if (request.complete) return;
      const cut = setTimeout(() => request.socket.destroy(), graceMs);
      request.once('close', () => clearTimeout(cut));
    });
    next();
  };
}
