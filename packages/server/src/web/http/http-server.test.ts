import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/kit.js';
import { closeSilent, createHttpServer } from './http-server.js';

test('connections are bounded, and one that is only kept warm makes room for another', async () => {
  const server = createHttpServer(express().use((_request, response) => void response.send('answered')));
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
    return String(text).includes('answered');
  };
  expect([await get(), await get()]).toEqual([true, true]);
  // The third connection is dropped, and causes the idle ones to be closed.
  expect(await get()).toBe(false);
  await until(get);
});

test('clients that connect and send nothing do not keep others out', async () => {
  const server = createServer((_request, response) => void response.end('answered'));
  closeSilent(server, 2);
  server.maxConnections = 4;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const silent = Array.from({ length: 10 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    return socket;
  });
  await until(async () => silent.filter(({ destroyed }) => !destroyed).length === 2);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const [response] = await once(get({ host: '127.0.0.1', port, agent }), 'response');
  const kept: Socket = response.socket;
  expect(await text(response)).toBe('answered');
  // This connection has sent a request, so it stays when others connect.
  const more = Array.from({ length: 10 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => more.forEach((socket) => void socket.destroy()));
  await until(async () => more.filter(({ destroyed }) => !destroyed).length === 2);
  expect(kept.destroyed).toBe(false);
});
