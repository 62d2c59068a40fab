import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Started } from './parts.js';
import { createMetricsApp } from './web/app.js';
import { createHttpServer } from './web/guards/http-server.js';

/**
 * How many connections may wait to be accepted. Linux drops further ones, whose clients try again only after a second
 * or more. Node's default of 511 overflows at 600 new connections a second. The system may set a lower limit.
 */
const backlog = 4_096;

/** Returns the port, which the system chooses if it is 0. */
export async function listen(server: HttpServer, host: string, port: number): Promise<number> {
  server.listen({ port, host, backlog });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Opens `--metrics-port`, if it is set. Requests to it need no key, so its address is not that of the API. */
export async function openMetricsPort(services: Parameters<typeof createMetricsApp>[0]): Promise<Started> {
  const { config, log } = services;
  if (config.metricsPort === undefined) return { stop() {} };
  const http = createHttpServer(createMetricsApp(services));
  const port = await listen(http, config.metricsHost, config.metricsPort);
  log.info({ url: `${localUrl(config.metricsHost, port)}/metrics` }, 'serving metrics');
  const stop = () => {
    http.close();
    http.closeAllConnections();
  };
  return { stop, abort: stop };
}

export const isWildcard = (host: string) => host === '0.0.0.0' || host === '::';

/** Returns an address for clients on this machine. */
export function localUrl(host: string, port: number): string {
  const reachable = isWildcard(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
