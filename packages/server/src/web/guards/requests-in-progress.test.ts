import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import type { Request, Response } from 'express';
import { Gauge } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { callServer, silent, site, startServer, temporaryDatabase, temporaryFolder, until } from '../../../test/kit.js';
import { loadConfig } from '../../config.js';
import { TooManyRequestsError } from '../answers/responses.js';
import { createMetricsApp } from '../app.js';
import { Metrics } from '../metrics.js';
import { countClients, maxInProgress, RequestsInProgress } from './requests-in-progress.js';

const response = (complete = true) =>
  Object.assign(new EventEmitter(), { closed: false, req: { complete } }) as unknown as Response & EventEmitter;

/** Begins as many requests as the holder may. */
function beginAll(requests: RequestsInProgress, holder: string): (Response & EventEmitter)[] {
  const begun: (Response & EventEmitter)[] = [];
  for (;;) {
    const one = response();
    try {
      requests.begin(holder, one);
    } catch (error) {
      expect(error).toBeInstanceOf(TooManyRequestsError);
      return begun;
    }
    begun.push(one);
  }
}

test('a holder has at most so many requests in progress, and another one again when a response is closed', () => {
  const requests = new RequestsInProgress({ maxPerHolder: 64 });
  const [first] = beginAll(requests, 'a');
  expect(beginAll(requests, 'b')).toHaveLength(64);
  expect(() => requests.begin('a', response())).toThrow(TooManyRequestsError);
  first!.emit('close');
  expect(beginAll(requests, 'a')).toHaveLength(1);
});

test('however many holders have as many as they may, another one still begins some', () => {
  const requests = new RequestsInProgress({ maxPerHolder: 64 });
  const begun = Array.from({ length: 20 }, (_, index) => beginAll(requests, `holder ${index}`).length);
  expect(begun[0]).toBe(64);
  expect(begun.at(-1)).toBeGreaterThanOrEqual(1);
});

test('clients without a key on however many addresses keep no caller and no probe out', () => {
  const guards = {
    anyone: countClients('anyone', 'off'),
    caller: countClients('caller', 'off'),
    probe: countClients('probe', 'off'),
  };
  const send = (kind: keyof typeof guards, address: string) => {
    const request = { socket: { remoteAddress: address }, headers: {} } as unknown as Request;
    guards[kind](request, response(), () => {});
  };
  let held = 0;
  expect(() => {
    for (; held < 2_000; held++) send('anyone', `203.0.${held >> 8}.${held & 255}`);
  }).toThrow(TooManyRequestsError);
  expect(held).toBeGreaterThan(200);
  for (const kind of ['caller', 'probe'] as const) send(kind, '198.51.100.1');
});

test('at the total, the oldest request that waits for its client is closed for a client without a request', () => {
  const requests = new RequestsInProgress({ total: 64, maxPerHolder: 64 });
  const destroyed: number[] = [];
  const waiting = Array.from({ length: 64 }, (_, index) => {
    const one = Object.assign(response(index === 0), { destroy: () => destroyed.push(index) });
    requests.begin(`holder ${index}`, one);
    return one;
  });
  requests.begin('newcomer', response());
  requests.begin('another', response());
  // The server is working on the first one, so that one is not closed.
  expect(destroyed).toEqual([1, 2]);
  expect(() => requests.begin('holder 9', response())).toThrow(TooManyRequestsError);
  for (const one of waiting) one.emit('close');
  expect(beginAll(requests, 'newcomer')).toHaveLength(31);
});

test('a request whose connection has closed is not counted', () => {
  const requests = new RequestsInProgress({ maxPerHolder: 1 });
  expect(() => requests.begin('a', Object.assign(response(), { closed: true }))).toThrow('the connection closed');
  expect(beginAll(requests, 'a')).toHaveLength(1);
});

test('every request of a permitted burst may be in progress', () => {
  expect(maxInProgress('off')).toBe(64);
  expect(maxInProgress({ perSecond: 50, burst: 10 })).toBe(64);
  expect(maxInProgress({ perSecond: 50, burst: 100 })).toBe(100);
});

test('beyond its requests in progress, a client gets 429 with Retry-After, and the probes still respond', async () => {
  const server = await startServer({ rateLimit: 'off' });
  /** A request whose body does not end is in progress. */
  const begin = () => {
    const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (data: string) => {
      text += data;
    });
    socket.write(
      `POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${server.apiKey}\r\nContent-Length: 9\r\n\r\n{`,
    );
    return { socket, received: () => text };
  };
  const held = Array.from({ length: 64 }, begin);
  const isFull = async () => (await server.call('GET', '/v1/balance')).status === 429;
  await until(isFull);
  const { status, body, headers } = await server.call('GET', '/v1/balance');
  expect({
    status,
    body,
    after: headers.get('retry-after'),
    origin: headers.get('access-control-allow-origin'),
  }).toEqual({ status: 429, body: { message: 'Too Many Requests' }, after: '1', origin: '*' });
  for (const path of ['/healthz', '/metrics', '/openapi.json'])
    expect((await server.call('GET', path, undefined, null)).status).toBe(200);
  expect(held.map(({ received }) => received())).toEqual(Array(64).fill(''));
  held[0]!.socket.destroy();
  await until(async () => !(await isFull()));
});

test('beyond its requests in progress, a client gets 429 on the metrics port, too', async () => {
  const db = await temporaryDatabase();
  const metrics = new Metrics(db, temporaryFolder());
  let end = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  new Gauge({
    name: 'held',
    help: 'Is not counted before its time',
    registers: [metrics.registry],
    collect: () => held,
  });
  const config = loadConfig({}, {}, { rateLimit: 'off' });
  const url = await site(createMetricsApp({ config, db, metrics, isReady: () => true, log: silent }));
  const statusOf = async (path: string) => (await callServer(url, 'GET', path, undefined, null)).status;
  const begun = Array.from({ length: maxInProgress(config.rateLimit) }, () => statusOf('/metrics'));
  await until(async () => (await statusOf('/healthz')) === 429);
  end();
  expect(new Set(await Promise.all(begun))).toEqual(new Set([200]));
  expect(await statusOf('/healthz')).toBe(200);
});
