import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { Channel, type Handlers } from '@gen3d/rpc';
import { expect, onTestFinished, test } from 'vitest';
import type { Bundle } from '../bundle/load-bundle.js';
import { RemoteSessions } from './remote-sessions.js';
import type { Networks } from './threads.js';

test('after an abort, no network starts, and one that is waiting for the device does not run', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const abort = new AbortController();
  let runs = 0;
  const networks: Handlers<Networks> = {
    open: () => ({ path: 'network.onnx', shapes: new Map() }),
    async run(_, signal) {
      runs++;
      abort.abort();
      await once(signal, 'abort');
      throw signal.reason;
    },
  };
  new Channel(port2, networks);
  const sessions = new RemoteSessions(port1);
  sessions.signal = abort.signal;
  const session = await sessions.open({ directory: '.' } as Bundle, 'network.onnx', [], []);
  for (let i = 0; i < 2; i++) await expect(session.run({})).rejects.toThrow('aborted');
  expect(runs).toBe(1);
});

test('an aborted photo does not wait for the network that is running', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const abort = new AbortController();
  const networks: Handlers<Networks> = {
    open: () => ({ path: 'network.onnx', shapes: new Map() }),
    run() {
      abort.abort();
      return new Promise(() => {});
    },
  };
  new Channel(port2, networks);
  const sessions = new RemoteSessions(port1);
  sessions.signal = abort.signal;
  const session = await sessions.open({ directory: '.' } as Bundle, 'network.onnx', [], []);
  await expect(session.run({})).rejects.toThrow('aborted');
});

test('running a network is device time, and loading one is waiting', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const deviceMs = 20;
  const work = () => {
    const start = performance.now();
    while (performance.now() - start < deviceMs);
  };
  const networks: Handlers<Networks> = {
    open() {
      work();
      return { path: 'network.onnx', shapes: new Map() };
    },
    run() {
      work();
      return { outputs: new Map(), deviceMs };
    },
  };
  new Channel(port2, networks);
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
