/** The thread of a pool's device. It opens all networks and runs them for the pipeline threads, one after the other. */
import { join } from 'node:path';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { findBundles, openDevice } from '../engine-device.js';
import type { Session } from '../network/session.js';
import { toSentError } from '../rpc/sent-error.js';
import { lowerPriority } from './lower-priority.js';
import type { FromNetworkThread, NetworkReply, NetworkRequest, ThreadOptions, ToNetworkThread } from './messages.js';

if (!parentPort) throw new Error('only a pool may start the network thread');
const pool = parentPort;
const send = (message: FromNetworkThread) => pool.postMessage(message);

lowerPriority();

const options = workerData as ThreadOptions;
const sessions = new Map<string, Session>();
const { openSession, chosen } = await findBundles(options)
  .then((bundles) => openDevice(bundles, { ...options, onWarning: (message) => send({ type: 'fellBack', message }) }))
  .catch((error: unknown) => {
    send({ type: 'failed', error: toSentError(error) });
    process.exit(); // ends this thread, not the process
  });

type Result = NetworkReply extends infer R ? (R extends unknown ? Omit<R, 'deviceMs'> : never) : never;

async function handle(request: NetworkRequest): Promise<Result> {
  if (request.type === 'run') return { type: 'ran', outputs: await sessions.get(request.path)!.run(request.inputs) };
  const { bundle, file, inputs, outputs } = request;
  const path = join(bundle.directory, file);
  const session = sessions.get(path) ?? (await openSession(bundle, file, inputs, outputs));
  sessions.set(path, session);
  const shapes = new Map([...inputs, ...outputs].map(({ name }) => [name, session.shapeOf(name)]));
  return { type: 'opened', path, shapes };
}

async function reply(port: MessagePort, request: NetworkRequest): Promise<void> {
  const start = performance.now();
  const result = await handle(request).catch((error: unknown) => ({
    type: 'failed' as const,
    error: toSentError(error),
  }));
  const deviceMs = performance.now() - start;
  if (result.type !== 'ran') return port.postMessage({ ...result, deviceMs });
  // Copies, because the runtime's own memory cannot be transferred.
  const outputs = new Map([...result.outputs].map(([name, data]) => [name, data.slice()]));
  port.postMessage(
    { ...result, outputs, deviceMs },
    [...outputs.values()].map(({ buffer }) => buffer),
  );
}

/** Requests of all pipeline threads in order of arrival. Opening a session takes several turns of the event loop. */
let queue = Promise.resolve();
const enqueue = (work: () => Promise<void>) => {
  queue = queue.then(work);
};

pool.on('message', (message: ToNetworkThread) => {
  if (message.type === 'connect') {
    const { port } = message;
    port.on('message', (request: NetworkRequest) => enqueue(() => reply(port, request)));
  } else {
    enqueue(async () => {
      for (const session of sessions.values()) await session.release();
      process.exit();
    });
  }
});
send({ type: 'opened', chosen });
