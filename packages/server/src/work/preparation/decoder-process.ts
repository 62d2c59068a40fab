/** A process that decodes untrusted images, one at a time. It has no secrets, and its crash costs only one job. */
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { configureForOneImage, normalizeImage } from '@gen3d/engine/images';
import { type Handlers, parentChannel } from '@gen3d/engine/rpc';
import { leaveSignalsToParent } from '../processes/child-process.js';
import { cpuExceededStatus, type DecodeLimits, type DecoderFunctions, memoryExceededStatus } from './messages.js';

const checkMs = 50;

const [, , limitsJson = '', niceness = ''] = process.argv;
const { maxRssBytes, maxCpuMs, ...limits } = JSON.parse(limitsJson) as DecodeLimits;

let cpuAtStart = process.cpuUsage();
let isDecoding = false;

/** Makes the kernel end this process before others when memory is short. */
function preferForOutOfMemoryKill(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // There is no /proc, or it is read-only. Decoding works without it.
  }
}

/** Returns this process's memory. Without /proc, as in the sandbox, returns its maximum so far. */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

preferForOutOfMemoryKill();
setPriority(Number(niceness));
configureForOneImage();
// The timer fires during decoding as well, because libvips decodes on its own thread. `unref` lets the process exit.
setInterval(() => {
  if (residentBytes() > maxRssBytes) process.exit(memoryExceededStatus);
  const { user, system } = process.cpuUsage(cpuAtStart);
  if (isDecoding && (user + system) / 1_000 > maxCpuMs) process.exit(cpuExceededStatus);
}, checkMs).unref();
leaveSignalsToParent();
parentChannel({
  async decode(image) {
    cpuAtStart = process.cpuUsage();
    isDecoding = true;
    try {
      // No timeout in sharp, which cannot interrupt a decoder. The timer above and the parent process can.
      return await normalizeImage(image, { ...limits, timeoutSeconds: 0 });
    } finally {
      isDecoding = false;
    }
  },
} satisfies Handlers<DecoderFunctions>);
