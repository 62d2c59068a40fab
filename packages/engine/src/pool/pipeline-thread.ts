/** A thread that makes models, one at a time. Its networks run in the network thread. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { Engine, type Stage } from '../engine.js';
import { toSentError } from '../rpc/sent-error.js';
import { lowerPriority } from './lower-priority.js';
import type { FromPipelineThread, PipelineData, ToPipelineThread } from './messages.js';
import { RemoteSessions } from './remote-sessions.js';

if (!parentPort) throw new Error('only a pool may start a pipeline thread');
const pool = parentPort;
const send = (message: FromPipelineThread) => pool.postMessage(message);

lowerPriority();

const { options, chosen, network } = workerData as PipelineData;
const sessions = new RemoteSessions(network);
const engine = await Engine.open(options, { chosen, openSession: sessions.open, now: sessions.now }).catch(
  (error: unknown) => {
    send({ type: 'failed', error: toSentError(error) });
    process.exit(); // ends this thread, not the process
  },
);
let abort = new AbortController();

async function generate({ photo, options }: Extract<ToPipelineThread, { type: 'generate' }>): Promise<void> {
  abort = new AbortController();
  const before = sessions.times;
  const start = sessions.now();
  const times = () => ({
    deviceMs: sessions.times.deviceMs - before.deviceMs,
    deviceWaitMs: sessions.times.deviceWaitMs - before.deviceWaitMs,
  });
  const onProgress = (fraction: number, running: Stage | undefined) => {
    send({ type: 'progress', fraction, running, ...times() });
    // The engine does not return to the event loop between stages. Without this, an abort would arrive after the last.
    for (let next = receiveMessageOnPort(pool); next; next = receiveMessageOnPort(pool)) receive(next.message);
  };
  try {
    const generated = await engine.generate(photo, { ...options, onProgress, signal: abort.signal });
    send({ type: 'generated', ...generated, ...times(), engineMs: sessions.now() - start });
  } catch (error) {
    send({ type: 'failed', error: toSentError(error) });
  }
}

function receive(message: ToPipelineThread): void {
  if (message.type === 'generate') void generate(message);
  else if (message.type === 'abort') abort.abort();
  else process.exit();
}

pool.on('message', receive);
send({ type: 'opened' });
