import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDatabase, temporaryFolder, until } from '../../../test/kit.js';
import { Metrics } from './metrics.js';
import { requestLog } from './request-log.js';

test('a flood of rejected requests makes two log lines per status, and accepted requests keep a line each', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const app = express();
  app.use(requestLog(log, new Metrics(await temporaryDatabase(), temporaryFolder()), 1_000));
  app.post('/forbidden', (_request, response) => void response.status(403).end());
  app.use((_request, response, next) => {
    response.locals.caller = { accountId: 'one', sandbox: false };
    next();
  });
  app.post('/limited', (_request, response) => void response.status(429).end());
  app.post('/wrong', (_request, response) => void response.status(400).end());
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
    // One window on a quick machine; a slow one may need more.
    await until(async () => linesOf(status, 'request').length + counted(status) === 20);
    expect(linesOf(status, 'request').length).toBeLessThan(windows);
  }
  expect(linesOf(400, 'request')).toHaveLength(20);
});
