/** The thread in which a runner's engine works: see threaded-engine.ts. */
import { setPriority } from 'node:os';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { Engine, EngineError, type EngineOptions } from '@gen3d/engine';
import type { Detail, FromEngine, ToEngine } from '../processes/messages.js';

if (!parentPort) throw new Error('the engine thread is started by a runner');
const port = parentPort;
const tell = (message: FromEngine) => port.postMessage(message);

// Inference may take every core; the API beside it must still answer at once. On Linux this is the thread's own priority,
// and that of the threads it starts: whoever holds the database's lock for a moment does not wait behind the inference.
if (process.platform !== 'win32') setPriority(10);

const { detail = {}, ...options } = workerData as EngineOptions & { detail?: Detail };
const engine = await Engine.open({
  ...options,
  onWarning: (message) => tell({ type: 'fellBack', message }),
});
let abort = new AbortController();

async function generate({ photo }: Extract<ToEngine, { type: 'generate' }>): Promise<void> {
  abort = new AbortController();
  const onProgress = (fraction: number) => {
    tell({ type: 'progress', fraction });
    // Between stages the engine does not return to the event loop, so an abort would arrive only after the last.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) receive(next.message);
  };
  try {
    const { glb, thumbnail, stats } = await engine.generate(photo, { ...detail, onProgress, signal: abort.signal });
    tell({ type: 'generated', glb, thumbnail, stats });
  } catch (error) {
    if (error instanceof EngineError) {
      const detail = error.cause instanceof Error ? error.cause.message : undefined;
      tell({ type: 'refused', code: error.code, message: error.message, detail });
    } else tell({ type: 'broken', problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function receive(message: ToEngine): void {
  if (message.type === 'generate') void generate(message);
  else if (message.type === 'abort') abort.abort();
  else void engine.close().finally(() => process.exit()); // ends this thread, not the process
}

port.on('message', receive);
tell({ type: 'opened', chosen: engine.chosen });
