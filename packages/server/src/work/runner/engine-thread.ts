/** The thread of a runner's engine. See threaded-engine.ts. */
import { setPriority } from 'node:os';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { Engine, EngineError, type EngineOptions } from '@gen3d/engine';
import type { FromEngine, MeshOptions, ToEngine } from '../processes/messages.js';

if (!parentPort) throw new Error('the engine thread is started by a runner');
const port = parentPort;
const send = (message: FromEngine) => port.postMessage(message);

// Inference may use every core, and the API must still respond quickly. On Linux this lowers the priority of this thread
// and of those it starts. The runner's main thread keeps its priority, because it briefly holds database locks.
if (process.platform !== 'win32') setPriority(10);

const { meshOptions = {}, ...options } = workerData as EngineOptions & { meshOptions?: MeshOptions };
const engine = await Engine.open({
  ...options,
  onWarning: (message) => send({ type: 'fellBack', message }),
});
let abort = new AbortController();

async function generate({ photo }: Extract<ToEngine, { type: 'generate' }>): Promise<void> {
  abort = new AbortController();
  const onProgress = (fraction: number) => {
    send({ type: 'progress', fraction });
    // The engine does not return to the event loop between stages. Without this, an abort would arrive after the last.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) receive(next.message);
  };
  try {
    const { glb, thumbnail, stats } = await engine.generate(photo, {
      ...meshOptions,
      onProgress,
      signal: abort.signal,
    });
    send({ type: 'generated', glb, thumbnail, stats });
  } catch (error) {
    if (error instanceof EngineError) {
      const detail = error.cause instanceof Error ? error.cause.message : undefined;
      send({ type: 'refused', code: error.code, message: error.message, detail });
    } else send({ type: 'broken', problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function receive(message: ToEngine): void {
  if (message.type === 'generate') void generate(message);
  else if (message.type === 'abort') abort.abort();
  else void engine.close().finally(() => process.exit()); // ends this thread, not the process
}

port.on('message', receive);
send({ type: 'opened', chosen: engine.chosen });
