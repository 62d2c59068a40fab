import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import type { Bundle } from '../bundle/load-bundle.js';
import type { NetworkReply, NetworkRequest } from './messages.js';
import { RemoteSessions } from './remote-sessions.js';

test('running a network is device time, and loading one is waiting', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const deviceMs = 20;
  port2.on('message', ({ type }: NetworkRequest) => {
    const start = performance.now();
    while (performance.now() - start < deviceMs);
    const reply: NetworkReply =
      type === 'open'
        ? { type: 'opened', path: 'network.onnx', shapes: new Map(), deviceMs }
        : { type: 'ran', outputs: new Map(), deviceMs };
    port2.postMessage(reply);
  });
  const sessions = new RemoteSessions(port1);
  const session = await sessions.open({ directory: '.' } as Bundle, 'network.onnx', [], []);
  const { deviceWaitMs } = sessions.times;
  expect(sessions.times.deviceMs).toBe(0);
  expect(deviceWaitMs).toBeGreaterThanOrEqual(deviceMs);
  const start = sessions.now();
  await session.run({});
  expect(sessions.times.deviceMs).toBe(deviceMs);
  // Apart from a rounding error.
  expect(sessions.now() - start).toBeGreaterThan(deviceMs - 1);
});
