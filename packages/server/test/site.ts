import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** Starts a server on loopback for the duration of the test. Returns its port. */
export async function listening(server: Server & { closeAllConnections?(): void }): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a web server on loopback for the duration of the test. Returns its URL. */
export const site = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listening(createServer(listener))}`;
