import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { signatureHeader, timestampHeader, WebhookEvent } from '@gen3d/schema';
import { sign } from '../../src/work/webhooks/post-event.js';
import type { PrivateCa } from './private-ca.js';

export interface Delivered {
  at: number;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  event: WebhookEvent;
}

/** Responds to the receiver's `count`-th request, counted from 1. */
export type Responder = (response: ServerResponse, delivered: Delivered, count: number) => void;

export interface Receiver {
  url: string;
  received: Delivered[];
  close(): void;
}

/** An HTTPS receiver on loopback that records its requests. By default, it responds with 200. */
export async function openReceiver(
  { cert, key }: PrivateCa,
  respond: Responder = (response) => response.end(),
): Promise<Receiver> {
  const received: Delivered[] = [];
  const server = createServer({ cert, key }, async (request, response) => {
    const at = Date.now();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the sender was killed during its request
    }
    const body = Buffer.concat(chunks);
    const event = WebhookEvent.parse(JSON.parse(body.toString()));
    const delivered = { at, path: request.url ?? '', headers: request.headers, body, event };
    received.push(delivered);
    respond(response, delivered, received.length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Whether a delivery is signed with this secret. */
export const signedWith = (secret: string, { headers, body }: Delivered): boolean =>
  headers[signatureHeader] === sign(secret, String(headers[timestampHeader]), body);
