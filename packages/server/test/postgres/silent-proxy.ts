import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { AtEnd } from '../kit.js';

/** A proxy for TCP that can fall silent, like a network that loses every packet: nothing passes, and nothing fails. */
export class SilentProxy {
  readonly #sockets = new Set<Socket>();
  #silent = false;
  /** Its port on loopback. */
  readonly port: number;

  private constructor(port: number) {
    this.port = port;
  }

  /** Forwards to a port of loopback until the end. */
  static async start(target: number, atEnd: AtEnd): Promise<SilentProxy> {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new SilentProxy((server.address() as AddressInfo).port);
    server.on('connection', (client) => proxy.#forward(client, connect(target, '127.0.0.1')));
    atEnd(() => {
      server.close();
      for (const socket of proxy.#sockets) socket.destroy();
    });
    return proxy;
  }

  /** Delays everything that is sent from now on until `resume`, including the ends of connections. */
  silence(): void {
    this.#silent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  resume(): void {
    this.#silent = false;
    for (const socket of this.#sockets) socket.resume();
  }

  #forward(client: Socket, upstream: Socket): void {
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#silent) from.pause();
      else from.resume();
    }
  }
}
