import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { dropSlowReaders } from './slow-readers.js';

const totalBytes = 16 * 1024 * 1024;

/** A server whose responses are far larger than what the system buffers for a client that does not read. */
async function startServer(windowMs: number) {
  const server = createServer((_request, response) => {
    response.setHeader('content-length', totalBytes);
    const part = Buffer.alloc(64 * 1024);
    Readable.from(Array.from({ length: totalBytes / part.length }, () => part)).pipe(response);
  });
  dropSlowReaders(server, { windowMs, checkMs: 50 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const [accepted] = await once(server, 'connection');
  return { socket, accepted };
}

test('a client that reads a response one byte at a time is cut off', async () => {
  const { socket, accepted } = await startServer(500);
  socket.on('error', () => {});
  // Nothing is read from the socket beyond what its own buffer takes.
  socket.pause().write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const trickle = setInterval(() => socket.read(1), 50);
  onTestFinished(() => clearInterval(trickle));
  await once(accepted, 'close');
});

test('a client on a slow line gets the whole response, however many times the window that takes', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const windowMs = 60_000;
  const { socket, accepted } = await startServer(windowMs);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const sent = () => accepted.bytesWritten - accepted.writableLength;
  const started = performance.now();
  let bytes = 0;
  while (bytes <= totalBytes && !accepted.destroyed) {
    const before = sent();
    while (bytes <= totalBytes && !accepted.destroyed && sent() - before < 64 * 1024) {
      const chunk: Buffer | null = socket.read();
      if (chunk) bytes += chunk.length;
      await new Promise(setImmediate);
    }
    vi.advanceTimersByTime(40_000);
  }
  expect(bytes).toBeGreaterThan(totalBytes);
  expect(performance.now() - started).toBeGreaterThan(2 * windowMs);
});
