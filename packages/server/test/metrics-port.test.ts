import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../src/config.js';
import { worker } from '../src/index.js';
import { asDataUri, ballPhoto } from './ball-photo.js';
import { callServer, newInstallation, smallModels, startServer, until } from './kit.js';

/** A log, and the URL of the metrics in it. */
function metricsLog() {
  const entries: { msg: string; url?: string }[] = [];
  const log = pino({ base: null }, { write: (line: string) => entries.push(JSON.parse(line)) });
  const address = () => {
    const url = entries.find(({ msg }) => msg === 'serving metrics')?.url;
    return url?.replace(/\/metrics$/, '');
  };
  return { log, address };
}

const get = (url: string, path: string) => callServer(url, 'GET', path, undefined, null);

test('a worker serves its health and the counts of its runners on a separate port, and nothing else there', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const { log, address } = metricsLog();
  const settings = { ...installation, ...smallModels, metricsPort: 0 };
  const running = await worker(loadConfig({}, {}, settings), { log });
  onTestFinished(() => running.close({ graceMs: 0 }));
  const url = address()!;
  expect(await get(url, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect((await get(url, '/v1/jobs')).status).toBe(404);
  await server.call('POST', '/v1/jobs', {
    type: 'image-to-3d',
    input: { image_urls: [asDataUri(ballPhoto(160, 0.1))] },
  });
  const counted = 'gen3d_jobs_finished_total{status="SUCCEEDED"} 1\n';
  await until(async () => String((await get(url, '/metrics')).body).includes(counted), 60_000);
  expect(String((await get(server.url, '/metrics')).body)).not.toContain(counted);
});

test('a worker has no port unless one is set', async () => {
  const installation = await newInstallation();
  await startServer({ ...installation });
  const { log, address } = metricsLog();
  const running = await worker(loadConfig({}, {}, { ...installation, ...smallModels }), { log });
  onTestFinished(() => running.close({ graceMs: 0 }));
  expect(address()).toBeUndefined();
});

test('a server with a metrics port serves its metrics on that port and not on the public one', async () => {
  const { log, address } = metricsLog();
  const server = await startServer({ metricsPort: 0 }, { log });
  expect((await get(server.url, '/metrics')).status).not.toBe(200);
  expect((await get(server.url, '/healthz')).status).toBe(200);
  expect((await get(address()!, '/metrics')).body).toContain('gen3d_database_up 1');
  await server.close({ graceMs: 0 });
  await expect(fetch(address()!)).rejects.toThrow();
});
