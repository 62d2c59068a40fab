import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listening, silent, until } from '../../../test/kit.js';
import { Shares } from '../../base/shares.js';
import { errorHandler } from '../answers/error-handler.js';
import type { Caller } from './auth.js';
import { jsonBody, smallJsonBody } from './json-body.js';
import { type Admission, createShares } from './shares.js';

/** A server that reads a JSON body and returns it. The header `caller` names the account; `sandbox` is the test key's. */
async function startReader(total?: number, options: ServerOptions = {}) {
  const shares = createShares({ rateLimit: 'off' });
  const bodies = total === undefined ? shares.bodies : new Shares({ total });
  const app = express();
  app.use((request, response, next) => {
    const accountId = request.get('caller') ?? 'one';
    response.locals.caller = { accountId, sandbox: accountId === 'sandbox' } satisfies Caller;
    response.locals.admission = { holder: accountId } satisfies Partial<Admission>;
    next();
  });
  app.post('/', jsonBody({ shares: { ...shares, bodies } }), (request, response) => void response.json(request.body));
  app.post('/small', smallJsonBody, (request, response) => void response.json(request.body));
  app.use(errorHandler(silent));
  const port = await listening(createServer(options, app));
  const begin = (headers: string, body = '', path = '/'): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    socket.on('error', () => {}).resume();
    onTestFinished(() => void socket.destroy());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`);
    return socket;
  };
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
  return { begin, post, bodies };
}

const kib = 1024;

test('while unfinished bodies use up the budget, the next gets 503 with Retry-After', async () => {
  const { begin, post, bodies: budget } = await startReader(200 * kib);
  const announced = begin(`Content-Length: ${60 * kib}`, '[');
  const chunked = begin('Transfer-Encoding: chunked', `${(10 * kib).toString(16)}\r\n${' '.repeat(10 * kib)}\r\n`);
  await until(async () => budget.free <= 130 * kib);
  const refused = await post(JSON.stringify('x'.repeat(40 * kib)));
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ error: { code: 'internal_error' } });
  // A body that fits is read.
  expect((await post('[1]')).status).toBe(200);

  announced.destroy();
  chunked.destroy();
  await until(async () => budget.free === 200 * kib);
  expect((await post(JSON.stringify('x'.repeat(40 * kib)))).status).toBe(200);
});

test('a request releases its share of the budget however it ends', async () => {
  const bytes = 20 * 1024 * kib;
  const { begin, post, bodies: budget } = await startReader(bytes);
  expect((await post('{"a":1}')).status).toBe(200);
  expect((await post('{"a":')).status).toBe(400);
  expect((await post('x'.repeat(9 * 1024 * kib))).status).toBe(400);
  const cutOff = begin('Content-Length: 5000', '[');
  await until(async () => budget.free === bytes - 5_000);
  cutOff.destroy();
  await until(async () => budget.free === bytes);
  await once(begin('Transfer-Encoding: chunked', '5\r\n12345\r\nno length\r\n'), 'close');
  await until(async () => budget.free === bytes);
});

test('a request that is not complete in time releases its share of the budget', async () => {
  const { begin, bodies: budget } = await startReader(100 * kib, {
    requestTimeout: 1_500,
    connectionsCheckingInterval: 100,
  });
  await once(begin('Content-Length: 5000', '['), 'close');
  await until(async () => budget.free === 100 * kib);
});

test('an account can send several images concurrently, and unfinished ones give way to another account', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { begin, post, bodies: budget } = await startReader();
  const image = JSON.stringify('x'.repeat(8 * 1024 * kib - 2));
  /** Begins bodies of a caller until one is refused. Returns how many are being read. */
  const fill = async (caller: string) => {
    for (let count = 0; ; count++) {
      const before = budget.free;
      let response = '';
      begin(`caller: ${caller}\r\nContent-Length: ${image.length}`).on('data', (part) => (response += part));
      await until(async () => budget.free < before - kib || response !== '');
      if (response === '') continue;
      expect(response).toMatch(/^HTTP\/1\.1 503 /);
      return count;
    }
  };
  const counts = [];
  for (const caller of ['a', 'b', 'c', 'd', 'e']) counts.push(await fill(caller));
  expect(counts).toEqual([6, 3, 1, 1, 1]);
  expect((await post(image, { caller: 'f' })).status).toBe(503);
  vi.advanceTimersByTime(10_001);
  expect((await post(image, { caller: 'f' })).status).toBe(200);
  // Those with the public test key have memory of their own.
  expect((await post('[1]', { caller: 'sandbox' })).status).toBe(200);
});

test('a body of one-byte chunks takes little more of the budget than its size', async () => {
  const { begin, bodies: budget } = await startReader();
  const text = JSON.stringify({ text: 'é'.repeat(3_000) });
  const chunks = [...Buffer.from(text)].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
  const total = budget.free;
  const used = () => total - budget.free;
  const socket = begin('Transfer-Encoding: chunked');
  let response = '';
  socket.on('data', (part) => (response += part));
  socket.write(chunks, 'latin1');
  await until(async () => used() >= Buffer.byteLength(text));
  expect(used()).toBeLessThan(3 * Buffer.byteLength(text));
  socket.write('0\r\n\r\n');
  await until(async () => response.endsWith(text));
  await until(async () => used() === 0);
});

test('the body of a caller without a key must arrive within 10 s', async () => {
  const { begin } = await startReader();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const socket = begin('Content-Length: 9', '{', '/small');
  while (vi.getTimerCount() === 0) await new Promise(setImmediate);
  vi.advanceTimersByTime(9_999);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 408 .*too long to arrive/s);
});

test.each([
  ['short values', (values: number) => `[${Array(values).fill('1').join(',')}]`],
  ['pairs', (values: number) => `{${Array.from({ length: values }, (_, index) => `"${index}":1`).join(',')}}`],
  ['nested lists', (values: number) => `[${`${'['.repeat(10)}${']'.repeat(10)},`.repeat(values / 11)}1]`],
])('a body of up to 10,000 %s is read, and a larger one is refused before it is parsed', async (_, make) => {
  const { post } = await startReader();
  expect((await post(make(9_999))).status).toBe(200);
  const refused = await post(make(500_000));
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { message: 'body: more than 10,000 values' } });
});
