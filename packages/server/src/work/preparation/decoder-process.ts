/** A process that decodes untrusted images, one at a time. It has no secrets, and its crash costs only one job. */
import { writeFileSync } from 'node:fs';
import { configureForOneImage, EngineError, normalizeImage } from '@gen3d/engine/images';
import {
  cpuExceededStatus,
  type DecodeLimits,
  type DecodeRequest,
  type DecodeResponse,
  memoryExceededStatus,
} from './messages.js';

const checkMs = 50;

const { maxRssBytes, maxCpuMs, ...limits } = JSON.parse(process.argv[2] ?? '') as DecodeLimits;

let cpuAtStart = process.cpuUsage();
let isDecoding = false;

async function decode({ bytes }: DecodeRequest): Promise<DecodeResponse> {
  cpuAtStart = process.cpuUsage();
  try {
    // No timeout in sharp, which cannot interrupt a decoder. The timer below and the parent process can.
    return { type: 'decoded', png: await normalizeImage(bytes, { ...limits, timeoutSeconds: 0 }) };
  } catch (error) {
    if (error instanceof EngineError) return { type: 'refused', code: error.code, message: error.message };
    return { type: 'failed', problem: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** Makes the kernel end this process before others when memory is short. */
function preferForOutOfMemoryKill(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not Linux, or /proc is read-only. Decoding works without it.
  }
}

preferForOutOfMemoryKill();
configureForOneImage();
// The timer fires during decoding as well, because libvips decodes on its own thread. `unref` lets the process exit.
setInterval(() => {
  if (process.memoryUsage.rss() > maxRssBytes) process.exit(memoryExceededStatus);
  const { user, system } = process.cpuUsage(cpuAtStart);
  if (isDecoding && (user + system) / 1_000 > maxCpuMs) process.exit(cpuExceededStatus);
}, checkMs).unref();
process.on('message', async (request: DecodeRequest) => {
  isDecoding = true;
  const response = await decode(request);
  isDecoding = false;
  process.send?.(response, undefined, undefined, () => {});
});
process.on('disconnect', () => process.exit());
// The parent may have ended while this process was starting.
if (!process.connected) process.exit();
// Ctrl-C and Windows' Ctrl-Break reach the whole process group; the parent process decides when to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const) process.on(signal, () => {});
