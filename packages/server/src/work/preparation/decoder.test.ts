import { fileURLToPath } from 'node:url';
import { ExitError } from '@gen3d/rpc';
import { expect, onTestFinished, test } from 'vitest';
import { sharp } from '../../../../engine/src/base/sharp.js';
import { WrongResultError } from '../stage-failures.js';
import { Decoder } from './decoder.js';
import { DecoderPool } from './decoder-pool.js';
import { maxRefusalBytes } from './decoder-protocol.js';

// The response of a decoder is as hostile as the image that may have taken it over.

const options = {
  limits: { maxPixels: 100e6, maxMemoryBytes: 2 ** 29, maxRssBytes: 2 ** 29, maxCpuMs: 30_000 },
  niceness: 0,
  file: fileURLToPath(new URL('../../../test/echoing-decoder.mjs', import.meta.url)),
};
const timeoutMs = 60_000;

function openDecoder(): Decoder {
  const decoder = new Decoder(options);
  onTestFinished(() => decoder.kill());
  return decoder;
}

const header = (kind: number, first: number, second: number) => {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32BE(first, 1);
  bytes.writeUInt32BE(second, 5);
  return bytes;
};

const pixels = { create: { width: 20, height: 16, channels: 3, background: 'red' } } as const;

/** A PNG of 20 x 16 pixels, to which the fake decoder responds with `response`. */
async function imageFor(...response: (Buffer | string)[]): Promise<Uint8Array> {
  const png = await sharp(pixels).png().toBuffer();
  // The decoder sends what follows the first 100 bytes.
  return Buffer.concat([
    png.subarray(0, 100),
    Buffer.alloc(Math.max(0, 100 - png.length)),
    ...response.map(Buffer.from),
  ]);
}

const rgb = (width: number, height: number) => [header(3, width, height), Buffer.alloc(3 * width * height, 7)];

test('pixels of the size in the header are the image', async () => {
  const decoder = openDecoder();
  const decoded = await decoder.decode(await imageFor(...rgb(20, 16)), timeoutMs);
  expect(decoded).toMatchObject({ width: 20, height: 16, channels: 3 });
  expect(Buffer.from(decoded.pixels)).toEqual(Buffer.alloc(3 * 20 * 16, 7));
});

test('a photo and its pixels may be larger than the buffers of the pipes', async () => {
  const png = await imageFor(...rgb(1_000, 1_000));
  png.set(header(0, 1_000, 1_000).subarray(1), 16);
  const decoded = await openDecoder().decode(png, timeoutMs);
  expect(Buffer.compare(decoded.pixels, Buffer.alloc(3_000_000, 7))).toBe(0);
});

test.each(['png', 'jpeg', 'webp', 'gif', 'avif'] as const)(
  'a file in the format %s is not a response',
  async (format) => {
    const file = await sharp(pixels).toFormat(format).toBuffer();
    const decoder = openDecoder();
    await expect(decoder.decode(await imageFor(file), timeoutMs)).rejects.toThrow(WrongResultError);
  },
);

test.each([
  ['a bomb of 65,535 x 65,535 pixels', header(4, 65_535, 65_535)],
  ['4 GiB of error', header(2, 0xffff_ffff, 0)],
  ['a size that the header does not have', Buffer.concat(rgb(16, 17))],
  ['no pixels', header(3, 0, 16)],
  ['one channel', header(1, 20, 16)],
  ['an error that is not JSON', Buffer.concat([header(2, 5, 0), Buffer.from('error')])],
  [
    'an error that images do not have',
    Buffer.concat([header(2, 32, 0), Buffer.from('{"code":"internal","message":""}')]),
  ],
  ['an error that is too long', header(2, maxRefusalBytes + 1, 0)],
] as const)('%s is not a response', async (_, response) => {
  const decoder = openDecoder();
  await expect(decoder.decode(await imageFor(response), timeoutMs)).rejects.toThrow(WrongResultError);
});

test('a second response is not taken for that to the next image', async () => {
  const decoder = openDecoder();
  await decoder.decode(await imageFor(...rgb(20, 16), ...rgb(20, 16)), timeoutMs);
  await expect(decoder.decode(await imageFor(...rgb(20, 16)), timeoutMs)).rejects.toThrow(WrongResultError);
});

test.each([
  ['turned by 90 degrees', rgb(16, 20)],
  ['as it is', rgb(20, 16)],
] as const)('a photo may be returned %s', async (_, response) => {
  const decoder = openDecoder();
  await expect(decoder.decode(await imageFor(...response), timeoutMs)).resolves.toMatchObject({ channels: 3 });
});

test('no response ends the process at the time limit, and half a response does too', async () => {
  for (const response of [Buffer.alloc(0), header(3, 20, 16)]) {
    const decoding = openDecoder().decode(await imageFor(response), 500);
    await expect(decoding).rejects.toThrow('the image decoder did not respond within 0.5 s');
  }
});

test('the end of the process is its exit status', async () => {
  const error = await openDecoder()
    .decode(await imageFor('exit'), timeoutMs)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ExitError);
  expect(error).toMatchObject({ code: 1, timedOut: false });
});

test('an image with a wrong result in two processes is image_invalid', async () => {
  const pool = new DecoderPool({ ordinary: options });
  onTestFinished(() => pool.stop());
  const decoding = pool.decode(await imageFor('garbage of any length'), 'account', new AbortController().signal);
  await expect(decoding).rejects.toMatchObject({ code: 'image_invalid', message: expect.stringContaining('crashed') });
});
