import type { ServerResponse } from 'node:http';
import type { TaskUpdatedEvent } from '@gen3d/schema';

/** Shorter than the time after which proxies close a silent connection. */
export const heartbeatMs = 10_000;
/** A client that has received nothing for this long is disconnected. */
const slowMs = 10_000;
/** How long a browser's EventSource waits before it reconnects. */
const reconnectMs = 1_000;

/**
 * Writes server-sent events. A client that reads too slowly is disconnected, and continues where it was when it
 * connects again.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStream {
  readonly #response: ServerResponse;
  #writtenAt = 0;

  /** Sends the headers and a first comment, by which a client learns that no proxy holds the stream back. */
  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      // nginx would otherwise collect the events before it sends them.
      'x-accel-buffering': 'no',
    });
    // A HEAD request asks for the headers alone. Its connection would otherwise stay open without a purpose.
    if (response.req.method === 'HEAD') response.end();
    else this.#write(`retry: ${reconnectMs}\n: connected\n\n`);
  }

  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** Milliseconds until the next heartbeat is due. */
  get untilHeartbeat(): number {
    return Math.max(0, this.#writtenAt + heartbeatMs - performance.now());
  }

  /** Resolves when the client can take more. */
  send(event: TaskUpdatedEvent): Promise<void> {
    return this.#write(`id: ${event.event_id}\ndata: ${JSON.stringify(event)}\n\n`);
  }

  heartbeat(): Promise<void> {
    return this.#write(': heartbeat\n\n');
  }

  end(): void {
    this.#response.end();
  }

  async #write(text: string): Promise<void> {
    this.#writtenAt = performance.now();
    if (this.isClosed || this.#response.write(text)) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#response.destroy(), slowMs);
      const done = () => {
        clearTimeout(timer);
        this.#response.off('drain', done).off('close', done);
        resolve();
      };
      this.#response.once('drain', done).once('close', done);
    });
  }
}
