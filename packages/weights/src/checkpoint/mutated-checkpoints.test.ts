import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seededRandom, soak } from '../../../engine/src/random-cases.fixture.js';
import { assertInside } from './byte-source.js';
import { readIndex } from './read-checkpoint.js';
import { CheckpointError, elementCount, itemSizes } from './tensor-record.js';

const mutations = soak ? 100_000 : 3_000;
const maxMs = 1000;

const samples = join(import.meta.dirname, 'samples.fixture');
const originals = readdirSync(samples)
  .filter((name) => /\.(ckpt|safetensors)$/.test(name))
  .map((name) => readFileSync(join(samples, name)));

test.each(['PyTorch', 'safetensors'])(
  `each mutated %s checkpoint is refused or gives tensors inside the file, in ${maxMs} ms`,
  async (format) => {
    const random = seededRandom(1);
    const ofFormat = originals.filter((bytes) => (bytes[8] === 0x7b) === (format === 'safetensors'));
    let accepted = 0;
    for (let i = 0; i < mutations; i++) {
      const bytes = mutate(ofFormat[Math.floor(random() * ofFormat.length)]!, ofFormat, random);
      // CPU time, so that other processes do not count.
      const start = process.cpuUsage();
      accepted += await check(bytes);
      const { user, system } = process.cpuUsage(start);
      const ms = (user + system) / 1_000;
      expect(ms, `mutation ${i} took ${ms} ms`).toBeLessThan(maxMs);
    }
    // If every mutation were refused at the first byte, this would test little.
    expect(accepted).toBeGreaterThan(mutations / 100);
    expect(accepted).toBeLessThan(mutations);
  },
  1_200_000,
);

/** @returns 1 if the checkpoint is accepted */
async function check(bytes: Buffer): Promise<number> {
  const source = {
    size: bytes.length,
    async read(offset: number, length: number) {
      assertInside(bytes.length, offset, length);
      return Buffer.from(bytes.subarray(offset, offset + length));
    },
  };
  try {
    for (const { name, dtype, shape, offset, length } of (await readIndex(source)).values()) {
      assertInside(bytes.length, offset, length);
      expect(length).toBe(elementCount(shape, name) * itemSizes[dtype]);
    }
    return 1;
  } catch (error) {
    if (error instanceof CheckpointError) return 0;
    throw error;
  }
}

const interesting = [0, 1, 0x7f, 0x80, 0xff, 0x28, 0x2e, 0x52, 0x63, 0x7b, 0x7d];

/** Makes one to four changes: of bits, bytes or numbers, or pieces removed, repeated or copied from another file. */
function mutate(original: Buffer, others: readonly Buffer[], random: () => number): Buffer {
  let bytes = Buffer.from(original);
  const below = (limit: number) => Math.floor(random() * limit);
  for (let changes = 1 + below(4); changes > 0 && bytes.length > 8; changes--) {
    const at = below(bytes.length);
    const length = 1 + below(Math.min(64, bytes.length - at));
    const other = others[below(others.length)]!;
    switch (below(7)) {
      case 0:
        bytes[at]! ^= 1 << below(8);
        break;
      case 1:
        bytes[at] = interesting[below(interesting.length)]!;
        break;
      case 2:
        if (at + 4 <= bytes.length) bytes.writeUInt32LE(below(2) ? 0xffffffff - below(3) : below(2 ** 32), at);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
        break;
      case 5:
        other.copy(bytes, at, below(other.length));
        break;
      default:
        bytes = bytes.subarray(0, at);
    }
  }
  return bytes;
}
