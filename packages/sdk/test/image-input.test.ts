import { Buffer } from 'node:buffer';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { imageSize } from '@gen3d/schema/rules';
import sharp from 'sharp';
import { build } from 'tsup';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ImageInput } from '../src/image-input.js';
import { type CreateJobParams, Gen3d, prepareImage } from '../src/index.js';
import { heicPhoto, limit, photoOfPhone, red, sent, sideways } from './photos.js';
import { jpeg } from './server.js';
import { toImageUrl } from './to-image-url.js';

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

/** A value for which `instanceof` is false, as in iframes and in the test environment jsdom. */
const inOtherRealm = (expression: string): Uint8Array => runInNewContext(expression, { bytes: [...jpeg] });

/** An object with the members of another one, but not its prototype. */
function foreign<T extends object>(original: T): T {
  const members = new Proxy(original, {
    getPrototypeOf: () => null,
    get: (target, name) => {
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return members;
}

async function* endless() {
  for (;;) yield jpegOf(mebibyte);
}

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
    ['a data URI of image/jpg', () => uri.replace('jpeg', 'jpg')],
    ['a data URI with line breaks', () => `${uri.slice(0, -4)}\r\n${uri.slice(-4)}\n`],
    ['a data URI with parameters', () => uri.replace('image/jpeg', 'IMAGE/JPEG;charset=utf-8')],
    ['bytes of another realm', () => inOtherRealm('new Uint8Array(bytes)')],
    ['an ArrayBuffer of another realm', () => inOtherRealm('new Uint8Array(bytes).buffer')],
    ['a view of another realm', () => inOtherRealm('new DataView(new Uint8Array([0, ...bytes]).buffer, 1)')],
    ['a stream of another realm', () => foreign(new Blob([jpeg]).stream())],
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
    [
      'a damaged photo over 4 MiB',
      () => jpegOf(4 * mebibyte + 1),
      /^The image is 4\.0 MiB, more than the 4 MiB that fit in a request, and cannot be converted here: .*JPEG/,
    ],
    ['an endless stream', endless, /101\.0 MiB.*more than the 4 MiB.*Make the image smaller/],
    ['a data URI of text', () => 'data:image/svg+xml,<svg/>', /^The data URI of the image is not base64/],
    ['a data URI that was cut off', () => uri.slice(0, -3), /is not base64\. Pass its bytes, or a complete data:/],
    ['a data URI of a PDF', () => `data:image/png;base64,${btoa('%PDF-1.7')}`, /is a PDF document/],
    ['no bytes', () => new Uint8Array(), /is empty/],
    ['a damaged GIF', () => Buffer.from('GIF89a'), /is a GIF, and cannot be converted here: .*PNG, JPEG or WebP/],
    ['a PDF', () => Buffer.from('%PDF-1.7'), /is a PDF document\. Send a JPEG, PNG, WebP, HEIC, AVIF, GIF or TIFF/],
    ['an SVG named .png', () => new File(['<svg></svg>'], 'logo.png'), /logo\.png is an SVG/],
    ['text', () => Buffer.from('hello'), /not a recognized image/],
    ['a path that does not exist', () => join(folder, 'phoot.jpg'), /phoot\.jpg does not exist/],
    ['a file URL that is not valid', () => 'file://%%', /^file:\/\/%% is not a valid http\(s\) or file URL$/],
    ['an empty path', () => '', /^image is missing\. Pass a path/],
    ['a folder', () => folder, /is not a file/],
    ['another scheme', () => 'ftp://host/cup.png', /^ftp:\/\/host\/cup\.png is not a valid http\(s\) or file URL$/],
    ['undefined', () => undefined as unknown as string, /^image is missing\. Pass a path/],
    ['a list', () => ['mug.jpg'] as unknown as string, /^image is of type Array\. Pass a path/],
    ['a promise', () => Promise.resolve('mug.jpg') as unknown as string, /^image is of type Promise\. Pass a path/],
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

test.each([
  ['a path', 'mug.jpg'],
  ['bytes', new Uint8Array(9)],
  ['nothing', undefined],
])('jobs.create with %s in place of its parameters says how to pass an image', async (_, params) => {
  await expect(new Gen3d({ apiKey: 'gen3d_key' }).jobs.create(params as unknown as CreateJobParams)).rejects.toThrow(
    /^image is missing\. Pass a path, .*, as in jobs\.create\(\{ image: 'mug\.jpg' \}\)$/,
  );
});

test('prepareImage refuses a path, and says that it takes a Blob or a File', async () => {
  const path = join(folder, 'photo.jpg') as unknown as Blob;
  await expect(prepareImage(path)).rejects.toThrow('prepareImage takes a Blob or a File');
});

let phonePhoto: Buffer;
beforeAll(async () => {
  phonePhoto = await photoOfPhone();
});

describe('where sharp is installed,', () => {
  test('a photo of 12 megapixels is scaled to what the server uses', async () => {
    expect(phonePhoto.length).toBeGreaterThan(limit);
    const image = await sent(await toImageUrl(new Blob([new Uint8Array(phonePhoto)])));
    expect(image).toMatchObject({ mediaType: 'image/jpeg', width: 2048, height: 1536, left: red });
  });

  test('a photo that was taken sideways is sent upright', async () => {
    const image = await sent(await toImageUrl(await sideways(phonePhoto)));
    expect(image).toMatchObject({ width: 1536, height: 2048, right: red });
  });

  test('a large cutout keeps its transparency', async () => {
    const pixels = new Uint8Array(4 * 2600 * 500).map((_, i) => (i % 4 === 3 ? 0 : (i * 7919) % 251));
    const cutout = sharp(pixels, { raw: { width: 2600, height: 500, channels: 4 } });
    const image = await sent(await toImageUrl(await cutout.png({ compressionLevel: 0 }).toBuffer()));
    expect(image).toMatchObject({ mediaType: 'image/webp', left: [0, 0, 0, 0] });
  });

  const small = () => sharp({ create: { width: 60, height: 40, channels: 3, background: '#f00' } });
  test.each([
    ['GIF', small().gif(), 'image/webp'],
    ['AVIF', small().avif(), 'image/jpeg'],
    ['TIFF', small().tiff(), 'image/jpeg'],
    ['a wide-gamut TIFF', small().withIccProfile('p3').tiff(), 'image/jpeg'],
  ])('%s is converted', async (_, image, mediaType) => {
    const converted = await sent(await toImageUrl(await image.toBuffer()));
    expect(converted).toEqual({
      mediaType: expect.stringMatching(mediaType),
      width: 60,
      height: 40,
      left: red,
      right: red,
    });
  });
});

test('a TIFF of floating-point numbers is refused with the reason, instead of becoming black', async () => {
  const gray = sharp({ create: { width: 96, height: 64, channels: 3, background: '#888' } });
  const tiff = await gray.toColorspace('scrgb').tiff({ compression: 'none' }).toBuffer();
  expect((await sharp(tiff).metadata()).depth).toBe('float');
  await expect(toImageUrl(tiff)).rejects.toThrow(
    'The image is a TIFF, and cannot be converted here: its pixels are floating-point numbers. Send a PNG',
  );
});

test('HEIC becomes an upright WebP with its colors, and a damaged one is an error with a remedy', async () => {
  const url = await toImageUrl(heicPhoto);
  const webp = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
  expect(await sharp(webp).metadata()).toMatchObject({ format: 'webp', width: 480, height: 384 });
  // The HEIC is stored sideways and in Display P3. Without its profile, the mean difference is 2.7 of 255.
  const teapot = fileURLToPath(new URL('../../../examples/photos/teapot.jpg', import.meta.url));
  const original = await sharp(teapot).resize(480, 384).raw().toBuffer();
  const converted = await sharp(webp).removeAlpha().raw().toBuffer();
  const mean = converted.reduce((sum, value, index) => sum + Math.abs(value - original[index]!), 0) / converted.length;

  expect(mean).toBeLessThan(2);
  const heic = await readFile(heicPhoto);
  const ofOtherBrand = Buffer.from(heic);
  ofOtherBrand.write('heis', 8, 'latin1');
  expect(await toImageUrl(ofOtherBrand)).toBe(url);
  for (const length of [400, 9_000]) {
    await expect(toImageUrl(heic.subarray(0, length))).rejects.toThrow(
      'The image is a HEIC photo, and cannot be converted here: HEIF',
    );
  }
});

describe('where images cannot be converted,', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-bare-'));
    const entry = { input: fileURLToPath(new URL('../src/image-input.ts', import.meta.url)) };
    const outExtension = () => ({ js: '.mjs' });
    await build({ entry, outDir: folder, format: 'esm', outExtension, noExternal: [/./], silent: true, config: false });
    await writeFile(join(folder, 'phone.jpg'), phonePhoto);
    await writeFile(join(folder, 'image.gif'), 'GIF89a');
    await copyFile(heicPhoto, join(folder, 'photo.heic'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const refusalOf = async (name: string) => {
    const script = `import('./input.mjs').then(({ readImage }) => readImage('${name}')).catch((e) => console.log(e.message))`;
    return (await promisify(execFile)(process.execPath, ['-e', script], { cwd: folder })).stdout;
  };

  const needsSharp =
    ', and cannot be converted here: it needs the package sharp ' +
    '(npm install sharp, and heic-decode for HEIC; in a bundle, pass new Gen3d({ sharp }))';
  test.each([
    ['phone.jpg', /phone\.jpg is \d+\.\d MiB, more than the 4 MiB that fit in a request, /],
    ['image.gif', /image\.gif is a GIF, /],
    ['photo.heic', /photo\.heic is a HEIC photo, /],
  ])('%s is rejected with a remedy', async (name, problem) => {
    const message = await refusalOf(name);
    expect(message).toMatch(problem);
    expect(message).toContain(`${needsSharp}. Cannot find package 'sharp' imported from `);
    expect(message).toMatch(/input\.mjs\. Send a PNG, JPEG or WebP of at most 4 MiB and 32 megapixels$/m);
  });

  test('because sharp cannot be loaded, the reason is reported', async () => {
    const sharpFolder = join(folder, 'node_modules/sharp');
    onTestFinished(() => rm(sharpFolder, { recursive: true }));
    await mkdir(sharpFolder, { recursive: true });
    const failure =
      'Could not load the "sharp" module using the linux-x64 runtime\\nERR_DLOPEN_DISABLED: Addons are disabled.\\nPossible solutions:';
    await writeFile(join(sharpFolder, 'index.js'), `throw new Error('${failure}')`);
    expect(await refusalOf('image.gif')).toBe(
      `image.gif is a GIF${needsSharp}. Could not load the "sharp" module using the linux-x64 runtime: ` +
        'ERR_DLOPEN_DISABLED: Addons are disabled. Send a PNG, JPEG or WebP of at most 4 MiB and 32 megapixels\n',
    );
    // A package that sharp needs is missing.
    await writeFile(join(sharpFolder, 'index.js'), `require('@img/sharp-plan9-x64')`);
    expect(await refusalOf('image.gif')).toMatch(
      /Gen3d\(\{ sharp \}\)\)\. Cannot find module '@img\/sharp-plan9-x64'\. Send/,
    );
  });
});

describe('an image of few bytes and many pixels', () => {
  let large: Buffer;
  beforeAll(async () => {
    // 36 megapixels of one color.
    const image = sharp({ create: { width: 6_000, height: 6_000, channels: 3, background: '#f00' } });
    large = await image.jpeg().toBuffer();
  });

  test('is scaled to what the server uses', async () => {
    expect(large.length).toBeLessThan(limit);
    expect(await sent(await toImageUrl(large))).toMatchObject({ width: 2048, height: 2048 });
  });

  const strip = () => sharp({ create: { width: 6_000, height: 60, channels: 3, background: '#f00' } });
  test.each([
    ['JPEG', strip().jpeg()],
    ['progressive JPEG', strip().jpeg({ progressive: true })],
    ['interlaced PNG', strip().png({ progressive: true })],
    ['WebP', strip().webp()],
    ['lossless WebP', strip().webp({ lossless: true })],
    ['transparent WebP', strip().ensureAlpha(0.5).webp()],
  ])('is recognized in %s', async (_, image) => {
    expect(imageSize(await image.toBuffer())).toEqual({ width: 6000, height: 60 });
  });

  test('is sent as it is where it cannot be scaled', async () => {
    const broken = () => {
      throw new Error('broken');
    };
    expect(await toImageUrl(large, broken)).toBe(`data:image/jpeg;base64,${large.toString('base64')}`);
  });

  test.each(['ffd8', 'ffd8ffe00010', '89504e470d0a1a0a', '524946460000000057454250'])(
    'is not assumed for the damaged header %s',
    (header) => {
      expect(imageSize(Buffer.from(header, 'hex'))).toBeUndefined();
    },
  );
});

describe('sharp', () => {
  const gif = () =>
    sharp({ create: { width: 60, height: 40, channels: 3, background: '#f00' } })
      .gif()
      .toBuffer();

  test('can be passed to the client, and to prepareImage', async () => {
    const image = new Blob([new Uint8Array(await gif())]);
    let calls = 0;
    const given: typeof sharp = Object.assign((...args: Parameters<typeof sharp>) => {
      calls += 1;
      return sharp(...args);
    }, sharp);
    expect((await prepareImage(image, { sharp: given })).type).toMatch(/^image\//);
    let body = '';
    const fetch = (_: unknown, init?: RequestInit) => {
      body = String(init?.body);
      return Promise.resolve(Response.json({ job_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A' }, { status: 202 }));
    };
    await new Gen3d({ apiKey: 'gen3d_key', fetch, sharp: given }).jobs.create({ image });
    expect(body).toContain('data:image/');
    expect(calls).toBe(2);
  });

  test.each([
    ['its namespace', { default: sharp }],
    ['something else', {}],
  ])('is refused with the reason if it is %s', async (_, given) => {
    const image = new Blob([new Uint8Array(await gif())]);
    await expect(prepareImage(image, { sharp: given as never })).rejects.toThrow(
      /cannot be converted here: sharp is not a function/,
    );
  });
});
