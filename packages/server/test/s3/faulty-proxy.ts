import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * A fault of a request: an error response with this status and code; no response; a connection that is closed before the
 * request reaches the store, during its body, after the store has executed it, or during the response; or a function that
 * is called after the store has executed it and before the response.
 */
export type Fault =
  | { status: number; code: string }
  | 'silence'
  | 'cut'
  | 'cut in body'
  | 'cut after'
  | 'cut in answer'
  | (() => Promise<void>);

export interface Seen {
  /** `PUT /bucket/key`, with the query. */
  what: string;
  headers: IncomingMessage['headers'];
}

/** A proxy between a client and an S3 server, over real sockets, that injects the planned faults. */
export class FaultyProxy {
  readonly seen: Seen[] = [];
  readonly #planned: { what: RegExp; faults: Fault[] }[] = [];
  readonly #server = createServer((incoming, answer) => void this.#pass(incoming, answer));
  /** While true, all connections fail. */
  down = false;

  constructor(private readonly target: string) {}

  /** Listens on loopback. Returns the URL. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Injects these faults, one each, into the next requests whose `PUT /bucket/key` matches. */
  plan(what: RegExp, ...faults: Fault[]): void {
    this.#planned.push({ what, faults });
  }

  /** Removes all planned faults. */
  mend(): void {
    this.#planned.length = 0;
    this.down = false;
  }

  async #pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    incoming.on('error', () => {});
    const what = `${incoming.method} ${incoming.url}`;
    this.seen.push({ what, headers: incoming.headers });
    const fault = this.down
      ? 'cut'
      : this.#planned.find((plan) => plan.faults.length && plan.what.test(what))?.faults.shift();
    if (fault === 'cut') return void incoming.socket.destroy();
    if (fault === 'cut in body') return void incoming.once('data', () => incoming.socket.destroy());
    const body: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) body.push(chunk);
    if (fault === 'silence') return;
    if (typeof fault === 'object') {
      const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${fault.code}</Code><Message>Planned</Message></Error>`;
      return void answer.writeHead(fault.status, { 'content-type': 'application/xml' }).end(xml);
    }
    const { method, url, headers } = incoming;
    const onward = request(this.target + url, { method, headers }, async (response) => {
      if (typeof fault === 'function') await fault();
      if (fault === 'cut after') {
        void text(response).then(() => incoming.socket.destroy());
      } else if (fault === 'cut in answer') {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.once('data', (chunk: Buffer) => {
          answer.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => incoming.socket.destroy());
        });
      } else {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      }
    });
    onward.on('error', () => incoming.socket.destroy());
    onward.end(Buffer.concat(body));
  }
}
