/** All networks of a pool's device are opened and run in this thread, one after the other, for the pipeline threads. */
import { join } from 'node:path';
import { Channel, type Handlers, parentChannel, transfer } from '@gen3d/rpc';
import { findBundles, openDevice } from '../device/engine-device.js';
import type { OpenSession, Session } from '../network/session.js';
import type { NetworkObserver, Networks, NetworkThread } from './threads.js';
import { lowerPriority } from './threads.js';

lowerPriority();

const sessions = new Map<string, Session>();
let openSession: OpenSession;

/** Queues the calls of all pipeline threads, because opening a session takes several turns of the event loop. */
let queue: Promise<unknown> = Promise.resolve();
function inOrder<T>(work: () => Promise<T>): Promise<T> {
  const result = queue.then(work);
  queue = result.catch(() => {});
  return result;
}

const networks: Handlers<Networks> = {
  open: ({ bundle, file, inputs, outputs }) =>
    inOrder(async () => {
      const path = join(bundle.directory, file);
      const session = sessions.get(path) ?? (await openSession(bundle, file, inputs, outputs));
      sessions.set(path, session);
      return { path, shapes: new Map([...inputs, ...outputs].map(({ name }) => [name, session.shapeOf(name)])) };
    }),
  run: ({ path, inputs }, signal) =>
    inOrder(async () => {
      signal.throwIfAborted();
      const start = performance.now();
      const results = await sessions.get(path)!.run(inputs);
      const deviceMs = performance.now() - start;
      // Copies, because the runtime's own memory cannot be transferred.
      const outputs = new Map([...results].map(([name, data]) => [name, data.slice()]));
      return transfer(
        { outputs, deviceMs },
        [...outputs.values()].map(({ buffer }) => buffer),
      );
    }),
};

const pool = parentChannel<NetworkObserver>({
  async open(options) {
    const onWarning = (message: string) => pool.notify('fellBack', message);
    const device = await openDevice(await findBundles(options), { ...options, onWarning });
    openSession = device.openSession;
    return device.chosen;
  },
  connect(port) {
    new Channel(port, networks);
  },
  close: () =>
    inOrder(async () => {
      for (const session of sessions.values()) await session.release();
    }),
} satisfies Handlers<NetworkThread>);
