import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { ConnectionError, Gen3d, type Gen3dOptions, RequestTimeoutError, WaitTimeoutError } from '../src/index.js';
import { jobId, jpeg, succeeded, task } from './server.js';

const closers: Array<() => void> = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A client of an HTTP server with this listener. */
async function clientOf(listener: RequestListener, options: Gen3dOptions = {}): Promise<Gen3d> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return new Gen3d({ apiKey: 'gen3d_key', baseUrl: `http://127.0.0.1:${port}`, ...options });
}

const silent: RequestListener = () => {};
const errorOf = (call: Promise<unknown>) => call.catch((thrown: unknown) => thrown);
const timeoutMs = 100;

describe('without a response, the timeoutMs of the call ends', () => {
  test.each<[string, string, (gen3d: Gen3d) => Promise<unknown>]>([
    ['POST', '/v1/jobs', ({ jobs }) => jobs.create({ image: jpeg }, { timeoutMs })],
    ['GET', `/v1/jobs/${jobId}`, ({ jobs }) => jobs.retrieve(jobId, { timeoutMs })],
    ['GET', '/v1/jobs', ({ jobs }) => jobs.list({ limit: 5 }, { timeoutMs }).page()],
    ['GET', '/v1/balance', ({ balance }) => balance.retrieve({ timeoutMs })],
    ['PUT', '/v1/webhook-endpoint', ({ webhookEndpoint }) => webhookEndpoint.set('https://me.test', { timeoutMs })],
    ['GET', '/v1/webhook-endpoint', ({ webhookEndpoint }) => webhookEndpoint.get({ timeoutMs })],
    ['DELETE', '/v1/webhook-endpoint', ({ webhookEndpoint }) => webhookEndpoint.delete({ timeoutMs })],
    ['POST', '/v1/webhook-endpoint/rotate', ({ webhookEndpoint }) => webhookEndpoint.rotate({ timeoutMs })],
    ['POST', '/v1/webhook-endpoint/test', ({ webhookEndpoint }) => webhookEndpoint.test({ timeoutMs })],
    ['POST', '/v1/jobs', (gen3d) => gen3d.generate(jpeg, { timeoutMs })],
    ['GET', `/v1/jobs/${jobId}`, (gen3d) => gen3d.download(jobId, { timeoutMs })],
    ['GET', '/cup.glb', (gen3d) => gen3d.download(`${gen3d.baseUrl}/cup.glb`, { timeoutMs })],
    ['GET', '/cup.glb', (gen3d) => gen3d.download(new URL(`${gen3d.baseUrl}/cup.glb`), { timeoutMs })],
  ])('%s %s', async (method, path, call) => {
    const gen3d = await clientOf(silent);
    const error = await errorOf(call(gen3d));
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      name: 'RequestTimeoutError',
      code: 'timeout',
      method,
      path,
      timeoutMs,
      message: `${gen3d.baseUrl} did not respond to ${method} ${path} within 0.1 s`,
    });
  });
});

describe('the timeoutMs of a call includes', () => {
  test('the pauses between its attempts', async () => {
    let requests = 0;
    const gen3d = await clientOf((_, response) => {
      requests += 1;
      response.writeHead(503, { 'retry-after': '50' }).end();
    });
    expect(await errorOf(gen3d.balance.retrieve({ timeoutMs: 1000 }))).toBeInstanceOf(RequestTimeoutError);
    expect(requests).toBe(1);
  });

  test('reading the image', async () => {
    const gen3d = await clientOf(silent);
    const stalled = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
    expect(await errorOf(gen3d.jobs.create({ image: stalled }, { timeoutMs }))).toMatchObject({
      name: 'RequestTimeoutError',
      path: '/v1/jobs',
    });
  });

  test('reading the body of the response', async () => {
    const gen3d = await clientOf((_, response) => void response.writeHead(200).write('{"balance_usd":'));
    expect(await errorOf(gen3d.balance.retrieve({ timeoutMs }))).toBeInstanceOf(RequestTimeoutError);
  });

  test('a custom fetch that ignores its signal', async () => {
    const gen3d = await clientOf(silent, { fetch: () => new Promise(() => {}) });
    expect(await errorOf(gen3d.balance.retrieve({ timeoutMs }))).toBeInstanceOf(RequestTimeoutError);
  });

  test('both steps of generate, whose error names the job that continues', async () => {
    const gen3d = await clientOf((request, response) => {
      response.end(JSON.stringify(request.method === 'POST' ? { job_id: jobId } : task()));
    });
    const error = await errorOf(gen3d.generate(jpeg, { timeoutMs: 2000 }));
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({
      code: 'wait_timeout',
      jobId,
      task: task(),
      message: expect.stringContaining('did not finish in time (IN_PROGRESS, 30 %)'),
    });
  });

  test('both steps of download', async () => {
    const gen3d = await clientOf((request, response) => {
      const glb = `http://${request.headers.host}/cup.glb`;
      if (request.url !== '/cup.glb') response.end(JSON.stringify({ ...succeeded, model_urls: { glb } }));
    });
    expect(await errorOf(gen3d.download(jobId, { timeoutMs: 2000 }))).toMatchObject({
      method: 'GET',
      path: '/cup.glb',
      timeoutMs: 2000,
    });
  });
});

test('the timeoutMs of the client applies to each attempt, and an attempt that times out is retried', async () => {
  let requests = 0;
  const gen3d = await clientOf(
    (_, response) => {
      requests += 1;
      if (requests > 1) response.end(JSON.stringify(task()));
    },
    { timeoutMs: 1000 },
  );
  expect(await gen3d.jobs.retrieve(jobId)).toEqual(task());
  expect(requests).toBeGreaterThan(1);
});

test('a timeoutMs beyond the maximum of a timer means no limit', async () => {
  const gen3d = await clientOf((_, response) => void response.end(JSON.stringify(task())), {
    timeoutMs: Number.POSITIVE_INFINITY,
  });
  expect(await gen3d.jobs.retrieve(jobId, { timeoutMs: 2 ** 40 })).toEqual(task());
});

test('a timeoutMs that is not a number ends at once', async () => {
  const gen3d = await clientOf(silent);
  expect(await errorOf(gen3d.jobs.wait(jobId, { timeoutMs: Number.NaN }))).toBeInstanceOf(WaitTimeoutError);
});
