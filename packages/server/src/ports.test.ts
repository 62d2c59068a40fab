import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from './ports.js';

/** The number of connections that wait to be accepted. */
function waitingOn(port: number): number {
  const listening = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} \\S+ 0A \\S+:([0-9A-F]+)`);
  return Number.parseInt(listening.exec(readFileSync('/proc/net/tcp', 'utf8'))![1]!, 16);
}

test.runIf(process.platform === 'linux')('1,000 connections that come at once all wait to be accepted', async () => {
  const server = createServer();
  const port = await listen(server, '127.0.0.1', 0);
  const sockets = Array.from({ length: 1_000 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // They connect in the next tick, before the server can accept any.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  expect(waitingOn(port)).toBe(Math.min(1_000, most + 1));
});
