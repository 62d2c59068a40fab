import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/kit.js';
import { createHttpServer } from './http-server.js';

test('the number of connections is limited, and an idle one is closed for a new one', async () => {
  const server = createHttpServer(express().use((_request, response) => void response.send('hello')));
  expect(server.maxConnections).toBeLessThanOrEqual(4_096);
  expect(server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 });
  server.maxConnections = 2;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const get = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [text] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    return String(text).includes('hello');
  };
  expect([await get(), await get()]).toEqual([true, true]);
  // The third connection is dropped, and causes the idle ones to be closed.
  expect(await get()).toBe(false);
  await until(get);
});
