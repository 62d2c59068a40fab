import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { silent, until } from '../../../test/kit.js';
import { errorHandler } from '../answers/error-handler.js';
import type { Caller } from './auth.js';
import { BodyBudget, bodyBudgetBytes } from './body-budget.js';
import { checkJsonStructure, jsonBody, smallJsonBody } from './json-body.js';

/** A server that reads a JSON body and returns it. The header `caller` names the account; `sandbox` is the test key's. */
async function startReader(budget: BodyBudget, options: ServerOptions = {}) {
  const app = express();
  app.use((request, response, next) => {
    const accountId = request.get('caller') ?? 'one';
    response.locals.caller = { accountId, sandbox: accountId === 'sandbox' } satisfies Caller;
    next();
  });
  app.post('/', jsonBody({ bodyBudget: budget }), (request, response) => void response.json(request.body));
  app.post('/small', smallJsonBody, (request, response) => void response.json(request.body));
  app.use(errorHandler(silent));
  const server = createServer(options, app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const begin = (headers: string, body = '', path = '/'): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    socket.on('error', () => {}).resume();
    onTestFinished(() => void socket.destroy());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`);
    return socket;
  };
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
  return { begin, post };
}

const kib = 1024;

test('while unfinished bodies use up the budget, the next gets 503 with Retry-After', async () => {
  const budget = new BodyBudget(200 * kib);
  const { begin, post } = await startReader(budget);
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
  const budget = new BodyBudget(bytes);
  const { begin, post } = await startReader(budget);
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
  const budget = new BodyBudget(100 * kib);
  const { begin } = await startReader(budget, { requestTimeout: 1_500, connectionsCheckingInterval: 100 });
  await once(begin('Content-Length: 5000', '['), 'close');
  await until(async () => budget.free === 100 * kib);
});

test('an account can send several images concurrently, and no number of accounts uses up the budget', async () => {
  const budget = new BodyBudget();
  const { begin, post } = await startReader(budget);
  const full = 8 * 1024 * kib;
  /** Begins bodies of a caller until one is refused. Returns how many are being read. */
  const fill = async (caller: string, size: number) => {
    for (let count = 0; ; count++) {
      const before = budget.free;
      let response = '';
      begin(`caller: ${caller}\r\nContent-Length: ${size}`).on('data', (part) => (response += part));
      await until(async () => budget.free < before || response !== '');
      if (response !== '') {
        expect(response).toMatch(/^HTTP\/1\.1 503 /);
        return count;
      }
    }
  };
  expect(await fill('sandbox', 256 * kib)).toBe(bodyBudgetBytes.sandbox / (256 * kib));
  expect([await fill('a', full), await fill('b', full), await fill('c', full), await fill('d', full)]).toEqual([
    5, 3, 1, 1,
  ]);
  expect((await post('[]', { caller: 'sandbox' })).status).toBe(503);
  // Less than an account may take of the free part.
  const image = JSON.stringify('x'.repeat(1024 * kib));
  for (const caller of ['e', 'f', 'g']) {
    begin(`caller: ${caller}\r\nContent-Length: ${image.length}`);
    expect((await post(image, { caller: `${caller} too` })).status).toBe(200);
  }
});

test('a compressed body is refused without inflating it', async () => {
  const budget = new BodyBudget();
  const { post } = await startReader(budget);
  for (const encoding of ['gzip', 'br', 'deflate', 'GZIP', 'gzip, gzip', 'unknown']) {
    const response = await post(gzipSync('[1]'), { 'content-encoding': encoding });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('Content-Encoding') },
    });
  }
  expect(await (await post('[1]', { 'content-encoding': 'identity' })).json()).toEqual([1]);
});

test('a body of one-byte chunks takes little more of the budget than its size', async () => {
  const budget = new BodyBudget();
  const { begin } = await startReader(budget);
  const text = JSON.stringify({ text: 'é'.repeat(3_000) });
  const chunks = [...Buffer.from(text)].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
  const socket = begin('Transfer-Encoding: chunked');
  let response = '';
  socket.on('data', (part) => (response += part));
  socket.write(chunks, 'latin1');
  const used = () => bodyBudgetBytes.total - budget.free;
  await until(async () => used() >= Buffer.byteLength(text));
  expect(used()).toBeLessThan(3 * Buffer.byteLength(text));
  socket.write('0\r\n\r\n');
  await until(async () => response.endsWith(text));
  await until(async () => used() === 0);
});

test('the body of a caller without a key must arrive within 10 s', async () => {
  const { begin } = await startReader(new BodyBudget());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const socket = begin('Content-Length: 9', '{', '/small');
  while (vi.getTimerCount() === 0) await new Promise(setImmediate);
  vi.advanceTimersByTime(9_999);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 408 .*too long to arrive/s);
});

const check = (json: string) => () => checkJsonStructure(Buffer.from(json));
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('the structure of a body', () => {
  test('may be up to 100 levels deep', () => {
    expect(check(nested(100))).not.toThrow();
    expect(check(nested(101))).toThrow('body: nested deeper than 100 levels');
    expect(check(`${'{"a":'.repeat(101)}1`)).toThrow('nested');
  });

  test('may have up to 10,000 values of any type', () => {
    const list = (value: string, times: number) => `[${Array(times).fill(value).join(',')}]`;
    expect(check(list('1', 9_000))).not.toThrow();
    for (const value of ['1', '""', '{}', '[]']) expect(check(list(value, 10_001))).toThrow('more than 10,000 values');
    expect(check(`{${Array.from({ length: 6_000 }, (_, i) => `"${i}":1`).join(',')}}`)).toThrow('values');
  });

  test('does not include the content of strings, whatever their escapes', () => {
    const brackets = '[{,:'.repeat(20_000);
    for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}"`]) {
      expect(check(JSON.stringify({ text, after: [1] }))).not.toThrow();
    }
  });

  test('includes everything after a string, whatever its escapes', () => {
    for (const text of ['\\', '\\\\', '"', '\\"', 'a\\"\\']) {
      expect(check(`[${JSON.stringify(text)},${nested(200)}]`)).toThrow('nested');
    }
  });
});
