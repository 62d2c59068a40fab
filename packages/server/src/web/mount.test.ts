import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startServer, until } from '../../test/kit.js';

/** The series of requests in the text of `/metrics`, with their labels and without their values. */
const seriesIn = (text: unknown) =>
  String(text)
    .split('\n')
    .filter((line) => line.startsWith('gen3d_http_request_duration_seconds_count'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));

/** Sends requests for these request lines, ten on each connection. The server discards what follows one that it refuses. */
async function send(port: number, lines: readonly string[]): Promise<void> {
  for (let first = 0; first < lines.length; first += 10) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const requests = lines.slice(first, first + 10).map((line) => `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n`);
    socket.write(`${requests.join('\r\n')}Connection: close\r\n\r\n`);
    socket.resume();
    await once(socket, 'close');
  }
}

test('a hundred generated request lines of each of 12 kinds add no metric series', async () => {
  const server = await startServer();
  const methods = METHODS.filter((method) => method !== 'CONNECT');
  const kinds = [
    (n: number) => `GET http://host-${n}/healthz`,
    (n: number) => `GET /Healthz/?n=${n}`,
    (n: number) => `GET /mount-${n}/healthz`,
    (n: number) => `GET //${n}/v1/jobs/${n}`,
    (n: number) => `GET /V1/jobs/${n}`,
    (n: number) => `GET /v1/jobs/${n}/more/${n}`,
    (n: number) => `GET /dashboard/page-${n}`,
    (n: number) => `GET /dashboard/api/jobs/${n}`,
    (n: number) => `GET /share/${n}`,
    (n: number) => `GET /docs/${n}`,
    (n: number) => `GET /assets/${n}/${n}/model.glb`,
    (n: number) => `${methods[n % methods.length]} /v1/balance?${n}`,
  ];
  const line = (n: number) => kinds[n % kinds.length]!(n);
  await send(
    server.port,
    Array.from({ length: 100 * kinds.length }, (_, n) => line(n)),
  );
  const series = await until(async () => {
    const all = seriesIn((await server.call('GET', '/metrics', undefined, null)).body);
    return all.length >= 8 && all;
  });
  expect(series.length).toBeLessThan(60);
  expect(series.join('\n')).not.toMatch(/host-|mount-|V1|page-|\d{4}/);
});

test('a request is labeled with the path of its group and the pattern of its route', async () => {
  const server = await startServer();
  for (const path of ['/v1/jobs', '/v1/jobs/abc', '/v1/balance/', '/unknown', '/docs', '/docs/sdk']) {
    await server.call('GET', path);
  }
  const labels = seriesIn((await server.call('GET', '/metrics', undefined, null)).body);
  const routes = labels.map((series) => /route="([^"]*)"/.exec(series)?.[1]);
  expect(new Set(routes)).toEqual(new Set(['/v1/jobs', '/v1/jobs/:id', '/v1/balance', 'other', '/docs']));
});
