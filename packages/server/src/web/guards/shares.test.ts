import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { publicTestKey } from '@gen3d/schema';
import type { Response } from 'express';
import { expect, onTestFinished, test, vi } from 'vitest';
import { photoJob } from '../../../test/contract/kit.js';
import { adminOf, newKey, startServer, type TestServer, until } from '../../../test/kit.js';
import { Shares } from '../../base/shares.js';
import { createShares, inTurn } from './shares.js';

/** An open response. */
const response = () =>
  Object.assign(new EventEmitter(), { closed: false, req: {} }) as unknown as Response & EventEmitter;

test('lists that block the event loop leave a part of it to others, however many accounts have some', async () => {
  const shares = new Shares({ total: 2, perHolder: 1 });
  const blockMs = 20;
  const block = async () => {
    const endsAt = performance.now() + blockMs;
    while (performance.now() < endsAt);
  };
  const accounts = ['a', 'b', 'c', 'a', 'b', 'c'];
  const before = performance.eventLoopUtilization();
  await Promise.all(accounts.map((account) => inTurn(shares, account, response(), block, { rests: true })));
  expect(performance.eventLoopUtilization(before).idle).toBeGreaterThan(2 * blockMs);
});

test('a client that disconnects while it waits gives its turn to the next one', async () => {
  const shares = new Shares({ total: 2, perHolder: 1 });
  let finish = () => {};
  const first = inTurn(shares, 'a', response(), () => new Promise<void>((resolve) => (finish = resolve)));
  const gone = response();
  const waiting = inTurn(shares, 'a', gone, async () => 'done');
  const last = inTurn(shares, 'a', response(), async () => 'done');
  gone.emit('close');
  await expect(waiting).rejects.toThrow('the connection closed');
  finish();
  await first;
  expect(await last).toBe('done');
  const closed = Object.assign(response(), { closed: true });
  await expect(inTurn(shares, 'a', closed, async () => 'done')).rejects.toThrow('the connection closed');
});

test('work that fails gives its share back', async () => {
  const shares = new Shares({ total: 1 });
  await expect(inTurn(shares, 'a', response(), () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await inTurn(shares, 'a', response(), async () => 'done')).toBe('done');
});

test('every request of a permitted burst may be in progress', () => {
  const maxOf = (rateLimit: Parameters<typeof createShares>[0]['rateLimit']) => {
    const { requests } = createShares({ rateLimit });
    return Array.from({ length: 200 }, () => requests.take('a')).filter(Boolean).length;
  };
  expect(maxOf('off')).toBe(64);
  expect(maxOf({ perSecond: 50, burst: 10 })).toBe(64);
  expect(maxOf({ perSecond: 50, burst: 100 })).toBe(100);
});

/** Sends a request whose body never ends. `from` is an address on loopback. */
function beginBody({ port }: TestServer, head: string, from = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {}).resume();
  socket.write(`${head}\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 99\r\n\r\n{`);
  return socket;
}

const signIn = 'POST /dashboard/api/session HTTP/1.1';

test('beyond its requests in progress, an account gets 429 with Retry-After, and all others and the probes respond', async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const { api_key: other } = await newKey(admin, 'other');
  const held = Array.from({ length: 64 }, () =>
    beginBody(server, `POST /v1/jobs HTTP/1.1\r\nx-api-key: ${server.apiKey}`),
  );
  const isFull = async () => (await server.call('GET', '/v1/balance')).status === 429;
  await until(isFull);
  const { status, body, headers } = await server.call('GET', '/v1/balance');
  const origin = headers.get('access-control-allow-origin');
  expect({ status, body, after: headers.get('retry-after'), origin }).toEqual({
    status: 429,
    body: { message: 'Too Many Requests' },
    after: '1',
    origin: '*',
  });
  expect((await server.call('GET', '/v1/balance', undefined, other)).status).toBe(200);
  for (const path of ['/healthz', '/metrics', '/openapi.json']) {
    expect((await server.call('GET', path, undefined, null)).status).toBe(200);
  }
  held[0]!.destroy();
  await until(async () => !(await isFull()));
});

test('110 sign-ins that never arrive from the address of a member do not affect the member', async () => {
  const server = await startServer();
  const attempts = Array.from({ length: 110 }, () => beginBody(server, signIn));
  await Promise.all(attempts.map((socket) => once(socket, 'ready')));
  const body = { api_key: server.apiKey };
  const signInNow = () =>
    fetch(`${server.url}/dashboard/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(body),
    });
  await until(async () => (await signInNow()).status === 429);
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async () => (await server.call('GET', '/v1/balance')).status),
  );
  expect(statuses).toEqual(Array(60).fill(200));
  for (const socket of attempts) socket.destroy();
  await until(async () => (await signInNow()).status === 200);
});

test('seven members behind one address read 16 event streams each, and are served', { tags: 'slow' }, async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  for (let member = 0; member < 7; member++) {
    const { api_key } = await newKey(admin, `member ${member}`);
    const headers = { authorization: `Bearer ${api_key}` };
    const open = () => fetch(`${server.url}/gen3d/events`, { headers, signal: controller.signal });
    const streams = await Promise.all(Array.from({ length: 16 }, open));
    expect(streams.map(({ status }) => status)).toEqual(Array(16).fill(200));
    const reads = Array.from({ length: 20 }, () => server.call('GET', '/v1/balance', undefined, api_key));
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  }
});

// Only on Linux does every address of 127.0.0.0/8 belong to this machine.
test.runIf(process.platform === 'linux')(
  'requests of strangers at a hundred addresses keep no member with an event stream out, and no download',
  { tags: 'slow' },
  async () => {
    const server = await startServer();
    const { body } = await server.call('POST', '/v1/jobs', photoJob(), publicTestKey);
    const { job_id } = body as { job_id: string };
    const task = (await server.call('GET', `/v1/jobs/${job_id}`, undefined, publicTestKey)).body;
    const { glb } = (task as { model_urls: { glb: string } }).model_urls;
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const headers = { authorization: `Bearer ${server.apiKey}` };
    await fetch(`${server.url}/gen3d/events`, { headers, signal: controller.signal });
    const attack: Promise<unknown>[] = [];
    for (let index = 0; index < 760; index++) {
      attack.push(once(beginBody(server, signIn, `127.0.1.${index % 100}`), 'ready'));
    }
    for (let index = 0; index < 300; index++) {
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: `127.0.1.${index % 100}` });
      onTestFinished(() => void socket.destroy());
      // It reads only what the socket's own buffer holds.
      socket.on('error', () => {}).pause();
      attack.push(once(socket, 'ready'));
      socket.write(`GET ${new URL(glb).pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    }
    await Promise.all(attack);
    const reads = Array.from({ length: 60 }, () => server.call('GET', '/v1/balance'));
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(Array(60).fill(200));
    for (let round = 0; round < 3; round++) {
      const downloads = await Promise.all(Array.from({ length: 6 }, () => fetch(glb)));
      expect(downloads.map(({ status }) => status)).toEqual(Array(6).fill(200));
      await Promise.all(downloads.map((download) => download.arrayBuffer()));
    }
  },
);

test('an address that reads the documentation without end gets 429, and members do not notice', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const server = await startServer({ rateLimit: '50:100' });
  const read = async () => (await server.call('GET', '/docs/errors', undefined, null)).status;
  const statuses = await Promise.all(Array.from({ length: 400 }, read));
  expect(statuses.filter((status) => status === 429)).toHaveLength(200);
  expect((await server.call('GET', '/v1/balance')).status).toBe(200);
});
