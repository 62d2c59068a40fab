import { Buffer } from 'node:buffer';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ImageInput, toImageUrl } from '../src/image-input.js';
import { jpeg } from './server.js';

const mebibyte = 1024 ** 2;
const uri = `data:image/jpeg;base64,${Buffer.from(jpeg).toString('base64')}`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-'));
  await writeFile(join(folder, 'photo.jpg'), jpeg);
});
afterAll(() => rm(folder, { recursive: true }));

const jpegOf = (size: number) => {
  const bytes = new Uint8Array(size);
  bytes.set(jpeg);
  return bytes;
};

describe('a photo is converted to the same data URI from', () => {
  test.each<[string, () => ImageInput]>([
    ['a path', () => join(folder, 'photo.jpg')],
    ['a file URL', () => pathToFileURL(join(folder, 'photo.jpg'))],
    ['a file URL as text', () => pathToFileURL(join(folder, 'photo.jpg')).href],
    ['bytes', () => jpeg],
    ["Node's Buffer", () => Buffer.from(jpeg)],
    ['an ArrayBuffer', () => jpeg.slice().buffer],
    ['a Blob', () => new Blob([jpeg])],
    ['a File', () => new File([jpeg], 'photo.jpg', { type: 'image/png' })],
    ['a web stream', () => new Blob([jpeg]).stream()],
    ['a Node stream', () => Readable.from([jpeg.subarray(0, 3), jpeg.subarray(3)])],
    ['a data URI', () => uri],
  ])('%s', async (_, image) => {
    expect(await toImageUrl(image())).toBe(uri);
  });
});

test.each(['http://shop.example/cup.png', new URL('https://shop.example/cup.png')])(
  'the URL %s is passed on unchanged',
  async (url) => {
    expect(await toImageUrl(url)).toBe(String(url));
  },
);

test('many bytes are encoded to the same base64 as in Node', async () => {
  const bytes = jpegOf(100_001).map((value, index) => value || index % 251);
  expect(await toImageUrl(bytes)).toBe(`data:image/jpeg;base64,${Buffer.from(bytes).toString('base64')}`);
});

test.each([
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/webp', 'RIFF\x10\0\0\0WEBPVP8 '],
])('%s is detected from its first bytes', async (type, head) => {
  expect(await toImageUrl(Buffer.from(head, 'latin1'))).toMatch(new RegExp(`^data:${type};base64,`));
});

test('exactly 4 MiB fit into a request', async () => {
  expect((await toImageUrl(jpegOf(4 * mebibyte))).length).toBeGreaterThan(5 * mebibyte);
});

describe('these are rejected without a request:', () => {
  test.each<[string, () => ImageInput, RegExp]>([
    ['a damaged photo over 4 MiB', () => jpegOf(4 * mebibyte + 1), /image cannot be decoded.*file is complete/],
    ['an endless stream', endless, /101\.0 MiB.*more than the 4 MiB.*Make the image smaller/],
    ['a data URI over 4 MiB', () => `data:image/png;base64,${'A'.repeat(6 * mebibyte)}`, /4 MiB/],
    ['a data URI of a GIF', () => 'data:image/gif;base64,AAAA', /data URI must have the form/],
    ['no bytes', () => new Uint8Array(), /is empty/],
    ['a damaged GIF', () => Buffer.from('GIF89a'), /is a GIF that cannot be decoded here.*PNG, JPEG or WebP/],
    ['a PDF', () => Buffer.from('%PDF-1.7'), /is a PDF document\. Send a JPEG, PNG, WebP, HEIC, AVIF, GIF or TIFF/],
    ['an SVG named .png', () => new File(['<svg></svg>'], 'logo.png'), /logo\.png is an SVG/],
    ['text', () => Buffer.from('hello'), /not a recognized image/],
    ['a path that does not exist', () => join(folder, 'phoot.jpg'), /phoot\.jpg does not exist/],
    ['an empty path', () => '', /empty string\. Pass a path/],
    ['a folder', () => folder, /is not a file/],
    ['another scheme', () => 'ftp://host/cup.png', /is not an http\(s\) URL/],
    ['undefined', () => undefined as unknown as string, /image must be/],
  ])('%s', async (_, image, message) => {
    await expect(toImageUrl(image())).rejects.toMatchObject({
      name: 'InvalidRequestError',
      message: expect.stringMatching(message),
    });
  });

  test('a video of 40 GB, without reading it', async () => {
    const path = join(folder, 'video.mp4');
    await writeFile(path, '');
    await truncate(path, 40e9); // sparse, so it uses no disk space
    await expect(toImageUrl(path)).rejects.toThrow(/video\.mp4 is 38147\.0 MiB.*Make the image smaller/);
  });
});

async function* endless() {
  for (;;) yield jpegOf(mebibyte);
}
