/** A separate process for calls in which a graphics driver may crash, hang or write logs: see device/probe.ts. */
import { readFile } from 'node:fs/promises';
import { type Handlers, parentChannel } from '@gen3d/rpc';
import { loadBundle } from './bundle/load-bundle.js';
import { compareWithCpu, runBundle, totalTimes } from './checks/parity-run.js';
import type { Probe } from './device/probe.js';
import { ComputeDevice } from './network/compute-device.js';
import { env, InferenceSession } from './network/onnxruntime.js';

/** An ONNX graph that adds one number to itself. Opening it makes the provider choose its adapter. */
const smallestGraph = Buffer.from(
  'CAlCBAoAEBQ6OQoOCgF4CgF4EgF5IgNBZGQSBWdyYXBoWg8KAXgSCgoICAESBAoCCAFiDwoBeRIKCggIARIECgIIAQ==',
  'base64',
);

env.logLevel = 'error';

parentChannel({
  async open({ provider }) {
    await InferenceSession.create(smallestGraph, { executionProviders: [provider], logSeverityLevel: 3 });
    return { libraries: await mappedLibraries() };
  },
  async compare({ provider, directory }) {
    return compareWithCpu(await loadBundle(directory), new ComputeDevice(provider), new ComputeDevice());
  },
  async time({ provider, directory }) {
    const times = totalTimes(await runBundle(await loadBundle(directory), new ComputeDevice(provider)));
    return { ...times, peakBytes: process.resourceUsage().maxRSS * 1024 };
  },
} satisfies Handlers<Probe>);

/** Lists the shared libraries in this process's memory. Works only on Linux. */
async function mappedLibraries(): Promise<string[]> {
  const maps = await readFile('/proc/self/maps', 'utf8').catch(() => '');
  return [...new Set(maps.match(/\/\S+\.so(?:\.\S+)?$/gm))];
}
