/** A process that decodes untrusted images, one at a time. It has no secrets, and its crash costs only one job. */
import { writeFileSync } from 'node:fs';
import { configureForOneImage, EngineError, normalizeImage } from '@gen3d/engine/images';
import { type DecodeLimits, type DecodeRequest, type DecodeResponse, memoryExceededStatus } from './messages.js';

const memoryCheckMs = 50;

const { maxRssBytes, ...limits } = JSON.parse(process.argv[2] ?? '') as DecodeLimits;

async function decode({ bytes }: DecodeRequest): Promise<DecodeResponse> {
  try {
    // Without a time limit here: the parent process enforces one, also when a decoder does not return.
    return { type: 'decoded', png: await normalizeImage(bytes, { ...limits, timeoutSeconds: 0 }) };
  } catch (error) {
    if (error instanceof EngineError) return { type: 'refused', code: error.code, message: error.message };
    return { type: 'failed', problem: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

// When memory is short, the kernel ends this process before the others.
if (process.platform === 'linux') writeFileSync('/proc/self/oom_score_adj', '1000');
configureForOneImage();
// libvips decodes on a thread of its own, so the timer also fires while it decodes.
setInterval(() => {
  if (process.memoryUsage.rss() > maxRssBytes) process.exit(memoryExceededStatus);
}, memoryCheckMs);
process.on('message', async (request: DecodeRequest) => {
  const response = await decode(request);
  process.send?.(response, undefined, undefined, () => {});
});
process.on('disconnect', () => process.exit());
// Ctrl-C reaches the whole process group; the parent process decides when to stop.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
