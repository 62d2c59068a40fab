import { EventEmitter } from 'node:events';
import express, { type Request, type Response } from 'express';
import pino from 'pino';
import { expect, test } from 'vitest';
import { site, startServer, temporaryDatabase, temporaryFolder, until } from '../../../test/kit.js';
import { Metrics } from '../metrics.js';
import { requestLog, traceIdOf } from './request-log.js';

test('a flood of rejected requests is two log lines per status, and each accepted request is one', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const app = express();
  app.use(requestLog(log, new Metrics(await temporaryDatabase(), temporaryFolder()), { summaryMs: 1_000 }));
  app.post('/forbidden', (_request, response) => void response.status(403).end());
  app.use((_request, response, next) => {
    response.locals.caller = { accountId: 'one', sandbox: false };
    next();
  });
  app.post('/limited', (_request, response) => void response.status(429).end());
  app.post('/wrong', (_request, response) => void response.status(400).end());
  const url = await site(app);
  const post = (path: string) => fetch(url + path, { method: 'POST' });
  const startedAt = performance.now();
  await Promise.all(
    ['/forbidden', '/limited', '/wrong'].flatMap((path) => Array.from({ length: 20 }, () => post(path))),
  );

  const windows = 2 + (performance.now() - startedAt) / 1_000;

  const linesOf = (status: number, msg: string) => lines.filter((line) => line.status === status && line.msg === msg);
  const counted = (status: number) =>
    linesOf(status, 'more requests were rejected').reduce((sum, { count }) => sum + Number(count), 0);
  for (const status of [403, 429]) {
    // One window on a fast machine, more on a slow one.
    await until(async () => linesOf(status, 'request').length + counted(status) === 20);
    expect(linesOf(status, 'request').length).toBeLessThan(windows);
  }
  expect(linesOf(400, 'request')).toHaveLength(20);
});

test('requests that change something are logged at info, and others at debug', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const server = await startServer({ logFormat: 'json' }, { log });
  expect((await server.call('GET', '/v1/jobs')).status).toBe(200);
  expect((await server.call('POST', '/v1/jobs', {})).status).toBe(400);
  const requests = () => lines.filter(({ msg }) => msg === 'request');
  await until(async () => requests().some(({ status }) => status === 400));
  expect(requests()).toMatchObject([{ method: 'POST', path: '/v1/jobs', status: 400 }]);
});

test('an account that sends many requests gets ten log lines a second, and one with the number of the others', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const handler = requestLog(log, new Metrics(await temporaryDatabase(), temporaryFolder()), { summaryMs: 100 });
  for (let index = 0; index < 1_000; index++) {
    const response = Object.assign(new EventEmitter(), {
      locals: { caller: { accountId: index < 900 ? 'busy' : 'other' } },
      statusCode: 202,
      writableFinished: true,
      set: () => {},
    });
    const request = { method: 'POST', originalUrl: '/v1/jobs', headers: {} };
    handler(request as unknown as Request, response as unknown as Response, () => {});
    response.emit('close');
  }
  const ofRequests = (accountId: string) =>
    lines.filter((line) => line.accountId === accountId && line.msg === 'request');
  expect(ofRequests('busy')).toHaveLength(600);
  expect(ofRequests('other')).toHaveLength(100);
  await until(async () => lines.some(({ msg }) => msg === 'more requests'));
  expect(lines.filter(({ msg }) => msg === 'more requests')).toMatchObject([{ accountId: 'busy', count: 300 }]);
});

test('what opens a shared page or a model is not logged', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const server = await startServer({ logFormat: 'json' }, { log });
  for (const path of ['/share/secret', '/SHARE/secret/more', '/assets/JOB/secret/model.glb', '//share/secret']) {
    await server.call('GET', path, undefined, null);
  }
  await until(async () => lines.filter(({ msg }) => msg === 'request').length > 1);
  expect(JSON.stringify(lines)).not.toContain('secret');
});

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

test('a request continues the trace of its traceparent', () => {
  expect(traceIdOf(traceparent)).toBe(traceId);
  expect(traceIdOf(`${traceparent.slice(0, -2)}00`)).toBe(traceId);
  // A later version may append fields.
  expect(traceIdOf(`01${traceparent.slice(2)}-more`)).toBe(traceId);
});

test.each([
  ['missing', undefined],
  ['duplicated', [traceparent, traceparent]],
  ['in capitals', traceparent.toUpperCase()],
  ['too short', traceparent.slice(1)],
  ['of version 00 with more fields', `${traceparent}-more`],
  ['of the forbidden version', `ff${traceparent.slice(2)}`],
  ['without a trace id', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
  ['without a parent id', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['followed by a line feed', `${traceparent}\n`],
])('a request starts a new trace if its traceparent is %s', (_, header) => {
  const newId = traceIdOf(header);
  expect(newId).toMatch(/^[0-9a-f]{32}$/);
  expect(newId).not.toBe(traceId);
  expect(traceIdOf(header)).not.toBe(newId);
});
