/** A separate process for calls in which a graphics driver may crash, hang or write logs: see probe.ts. */
import { readFile } from 'node:fs/promises';
import { loadBundle } from '../bundle/load-bundle.js';
import { ComputeDevice } from '../network/compute-device.js';
import { env, InferenceSession } from '../network/onnxruntime.js';
import { compareWithCpu, runBundle, totalTimes } from './parity-run.js';
import type { ProbeReply, ProbeRequest } from './probe.js';

/** An ONNX graph that adds one number to itself. Opening it makes the provider choose its adapter. */
const smallestGraph = Buffer.from(
  'CAlCBAoAEBQ6OQoOCgF4CgF4EgF5IgNBZGQSBWdyYXBoWg8KAXgSCgoICAESBAoCCAFiDwoBeRIKCggIARIECgIIAQ==',
  'base64',
);

env.logLevel = 'error';

async function replyTo(request: ProbeRequest): Promise<ProbeReply> {
  if (request.type === 'open') {
    await InferenceSession.create(smallestGraph, { executionProviders: [request.provider], logSeverityLevel: 3 });
    return { type: 'opened', libraries: await mappedLibraries() };
  }
  const bundle = await loadBundle(request.directory);
  const device = new ComputeDevice(request.provider);
  if (request.type === 'compare') {
    return { type: 'compared', ...(await compareWithCpu(bundle, device, new ComputeDevice())) };
  }
  return {
    type: 'timed',
    ...totalTimes(await runBundle(bundle, device)),
    peakBytes: process.resourceUsage().maxRSS * 1024,
  };
}

/** The shared libraries in this process's memory. Only Linux lists them. */
async function mappedLibraries(): Promise<string[]> {
  const maps = await readFile('/proc/self/maps', 'utf8').catch(() => '');
  return [...new Set(maps.match(/\/\S+\.so(?:\.\S+)?$/gm))];
}

process.on('disconnect', () => process.exit(1));

process.once('message', (request: ProbeRequest) => {
  const reply = (message: ProbeReply) => process.send?.(message, undefined, undefined, () => process.exit());
  replyTo(request).then(reply, (error: unknown) =>
    reply({ type: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  );
});
