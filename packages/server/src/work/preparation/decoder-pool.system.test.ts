import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, onTestFinished, test } from 'vitest';
import { worstEncodings } from '../../../../engine/src/photo/worst-images.fixture.js';
import { ballPhoto, ballPixels } from '../../../test/ball-photo.js';
import { until } from '../../../test/kit.js';
import { DecoderPool } from './decoder-pool.js';

const mebibyte = 1024 * 1024;
const never = new AbortController().signal;

function openPool(lanes?: ConstructorParameters<typeof DecoderPool>[0]): DecoderPool {
  const pool = new DecoderPool(lanes);
  onTestFinished(() => pool.stop());
  return pool;
}

/** Waits until the pool has a process that is not in `seen`. */
async function nextPid(pool: DecoderPool, seen: readonly number[] = []): Promise<number> {
  for (;;) {
    const next = pool.pids.find((pid) => !seen.includes(pid));
    if (next !== undefined) return next;
    // Soon enough to see the process before it has decoded its image.
    await new Promise(setImmediate);
  }
}

test('a process that has decoded an image of one account gets none of another', async () => {
  const pool = openPool();
  await pool.decode(ballPhoto(), 'a', never);
  const { pids } = pool;
  expect(await pool.decode(ballPhoto(), 'b', never)).toEqual(ballPixels());
  expect(pool.pids).toHaveLength(1);
  expect(pool.pids).not.toEqual(pids);
});

test('images are decoded concurrently up to the size of the lane', async () => {
  const pool = openPool({ ordinary: { size: 2 } });
  const images = await Promise.all(Array.from({ length: 5 }, () => pool.decode(ballPhoto(), 'account', never)));
  expect(images).toEqual(Array(5).fill(ballPixels()));
  expect(pool.pids).toHaveLength(2);
});

test('a file that is not an image is image_invalid, and the process decodes the next one', async () => {
  const pool = openPool();
  await expect(pool.decode(Buffer.from('<!doctype html>'), 'account', never)).rejects.toMatchObject({
    code: 'image_invalid',
    message: expect.stringContaining('an HTML page'),
  });
  const { pids } = pool;
  await pool.decode(ballPhoto(), 'account', never);
  expect(pool.pids).toEqual(pids);
});

test('an image that crashes its process twice is image_invalid, while another image is decoded', async () => {
  const pool = openPool({ ordinary: { size: 2 } });
  const crashing = pool.decode(ballPhoto(), 'account', never);
  const refused = expect(crashing).rejects.toMatchObject({
    code: 'image_invalid',
    message: expect.stringContaining('crashed'),
  });
  const first = await nextPid(pool);
  const other = pool.decode(ballPhoto(), 'account', never);
  const pids = [first, await nextPid(pool, [first])];
  process.kill(first, 'SIGSEGV');
  process.kill(await nextPid(pool, pids), 'SIGSEGV');
  await refused;
  expect(await other).toEqual(ballPixels());
});

test('an image whose process was killed once is decoded by another process', async () => {
  const pool = openPool();
  const decoded = pool.decode(ballPhoto(), 'account', never);
  process.kill(await nextPid(pool), 'SIGKILL');
  expect(await decoded).toEqual(ballPixels());
});

test('an idle process that was killed does not affect the next image', async () => {
  const pool = openPool();
  await pool.decode(ballPhoto(), 'account', never);
  process.kill(pool.pids[0]!, 'SIGKILL');
  expect(await pool.decode(ballPhoto(), 'account', never)).toEqual(ballPixels());
});

test('an image that takes too much CPU time is image_invalid', async () => {
  const limits = { maxPixels: 100e6, maxMemoryBytes: 512 * mebibyte, maxRssBytes: 768 * mebibyte, maxCpuMs: 1 };
  const pool = openPool({ ordinary: { limits } });
  const image = await worstEncodings['an interlaced PNG of 16 bits'](3_000);
  await expect(pool.decode(image, 'account', never)).rejects.toMatchObject({
    code: 'image_invalid',
    message: expect.stringContaining('more than 0.001 s of CPU time'),
  });
});

test("an account's image waits for only one of another account, however many of those arrived first", async () => {
  const pool = openPool({ ordinary: { size: 1 } });
  const order: string[] = [];
  const decode = async (account: string) => {
    await pool.decode(ballPhoto(), account, never);
    order.push(account);
  };
  await Promise.all(['a', 'a', 'a', 'a', 'b'].map(decode));
  expect(order).toEqual(['a', 'a', 'b', 'a', 'a']);
});

test('a process that does not respond is replaced, and the image is not invalid', async () => {
  const pool = openPool({ ordinary: { timeoutMs: 500 } });
  const decoded = pool.decode(ballPhoto(), 'account', never);
  const broken = expect(decoded).rejects.toThrow('the image decoder did not respond within 0.5 s');
  const pid = await nextPid(pool);
  process.kill(pid, 'SIGSTOP');
  await broken;
  await until(async () => !isAlive(pid));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

// 6 megapixels, with a proportional limit.
test.each(Object.entries(worstEncodings))('%s beyond the memory limit is image_too_large', async (_, encode) => {
  const limits = { maxPixels: 100e6, maxMemoryBytes: 20 * mebibyte, maxRssBytes: 768 * mebibyte, maxCpuMs: 60_000 };
  const pool = openPool({ ordinary: { limits }, large: { limits } });
  await expect(pool.decode(await encode(2_500), 'account', never)).rejects.toMatchObject({
    code: 'image_too_large',
    message: expect.stringContaining('more than 20 MiB of memory'),
  });
});

test('the memory limit also applies to an image that needs more than its header suggests', async () => {
  const limits = { maxPixels: 100e6, maxMemoryBytes: 512 * mebibyte, maxRssBytes: 110 * mebibyte, maxCpuMs: 60_000 };
  const pool = openPool({ ordinary: { limits }, large: { limits } });
  const image = await worstEncodings['an interlaced PNG of 16 bits'](3_000);
  await expect(pool.decode(image, 'account', never)).rejects.toMatchObject({
    code: 'image_too_large',
    message: expect.stringContaining('memory'),
  });
});

test('an image beyond the ordinary limits is decoded under the higher ones, and its process ends', async () => {
  const limits = { maxPixels: 1_000, maxMemoryBytes: mebibyte, maxRssBytes: 768 * mebibyte, maxCpuMs: 60_000 };
  const pool = openPool({ ordinary: { limits } });
  expect(await pool.decode(ballPhoto(), 'account', never)).toEqual(ballPixels());
  expect(pool.pids).toHaveLength(1);
});

test('a decoder process exits if its parent has exited during the start', async () => {
  const file = createRequire(import.meta.url).resolve('@gen3d/server/decoder');
  const limits = { maxPixels: 1, maxMemoryBytes: 1, maxRssBytes: 1024 * mebibyte, maxCpuMs: 60_000 };
  const child = spawn(process.execPath, [file, JSON.stringify(limits)], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.destroy();
  onTestFinished(() => void child.kill('SIGKILL'));
  await until(async () => child.exitCode !== null);
});

test.runIf(process.platform === 'linux')('a decoder process has no secrets in its environment', async () => {
  process.env.GEN3D_SERVER_KEY = 'secret';
  process.env.AWS_SECRET_ACCESS_KEY = 'secret';
  onTestFinished(() => {
    delete process.env.GEN3D_SERVER_KEY;
    delete process.env.AWS_SECRET_ACCESS_KEY;
  });
  const pool = openPool();
  await pool.decode(ballPhoto(), 'account', never);
  const environment = readFileSync(`/proc/${pool.pids[0]}/environ`, 'latin1').split('\0').filter(Boolean);
  const names = environment.map((entry) => entry.split('=')[0]);
  expect(names).toContain('PATH');
  const allowed = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TMP', 'TEMP', 'LD_LIBRARY_PATH'];
  // The shell that sets the limits adds PWD.
  expect(names.filter((name) => ![...allowed, 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name!))).toEqual([]);
});

test.runIf(process.platform === 'linux')('the kernel limits the memory and the CPU time of a decoder', async () => {
  const limits = { maxPixels: 100e6, maxMemoryBytes: mebibyte, maxRssBytes: 300 * mebibyte, maxCpuMs: 30_000 };
  const pool = openPool({ ordinary: { limits } });
  await pool.decode(ballPhoto(), 'account', never);
  const limitsOf = readFileSync(`/proc/${pool.pids[0]}/limits`, 'utf8');
  expect(limitsOf).toMatch(/^Max cpu time +120 +120 /m);
  expect(limitsOf).toMatch(new RegExp(`^Max data size +${556 * mebibyte} +${556 * mebibyte} `, 'm'));
});
