/** A process that decodes untrusted images, one at a time. It has no secrets, and its crash costs only one job. */
import { configureForOneImage, type DecodedPhoto, decode, EngineError } from '@gen3d/engine/images';
import { leaveSignalsToParent, yieldToOthers } from '../../base/child-process.js';
import {
  cpuExceededStatus,
  type DecodeLimits,
  EndOfStreamError,
  maxRefusalBytes,
  memoryExceededStatus,
  readExactly,
  responseKinds,
  uint32,
} from './decoder-protocol.js';

const checkMs = 50;

const [, , limitsJson = '', niceness = ''] = process.argv;
const { maxRssBytes, maxCpuMs, ...limits } = JSON.parse(limitsJson) as DecodeLimits;

let cpuAtStart = process.cpuUsage();
let isDecoding = false;

/** Returns this process's memory. Without /proc, as in the sandbox, returns its maximum so far. */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

function responseOf({ image: { width, height, data }, transparent }: DecodedPhoto): Buffer[] {
  const kind = transparent ? responseKinds.rgba : responseKinds.rgb;
  const pixels = transparent ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : withoutAlpha(data);
  return [Buffer.of(kind), uint32(width), uint32(height), pixels];
}

function withoutAlpha(rgba: Uint8Array): Buffer {
  const rgb = Buffer.allocUnsafe((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4) {
    rgb[to++] = rgba[from]!;
    rgb[to++] = rgba[from + 1]!;
    rgb[to++] = rgba[from + 2]!;
  }
  return rgb;
}

function refusalOf(error: unknown): Buffer[] {
  if (!(error instanceof EngineError)) throw error;
  const { code, message } = error;
  const text = Buffer.from(JSON.stringify({ code, message: message.slice(0, maxRefusalBytes / 8) }));
  return [Buffer.of(responseKinds.refused), uint32(text.length), uint32(0), text];
}

async function respondTo(image: Uint8Array): Promise<Buffer[]> {
  cpuAtStart = process.cpuUsage();
  isDecoding = true;
  try {
    // No timeout in sharp, which cannot interrupt a decoder. The timer below and the parent process can.
    return responseOf(await decode(image, { ...limits, timeoutSeconds: 0 }));
  } catch (error) {
    return refusalOf(error);
  } finally {
    isDecoding = false;
  }
}

yieldToOthers(Number(niceness));
configureForOneImage();
// These limits give clear messages. Those of the kernel, which the parent has set, are higher and hold in any case. The
// timer fires during decoding as well, because libvips decodes on its own thread. `unref` lets the process exit.
setInterval(() => {
  if (residentBytes() > maxRssBytes) process.exit(memoryExceededStatus);
  const { user, system } = process.cpuUsage(cpuAtStart);
  if (isDecoding && (user + system) / 1_000 > maxCpuMs) process.exit(cpuExceededStatus);
}, checkMs).unref();
leaveSignalsToParent();
try {
  for (;;) {
    const length = await readExactly(process.stdin, 4);
    const image = await readExactly(process.stdin, length.readUInt32BE());
    for (const part of await respondTo(image)) process.stdout.write(part);
  }
} catch (error) {
  // The parent has ended, or needs this process no longer.
  if (!(error instanceof EndOfStreamError)) throw error;
}
