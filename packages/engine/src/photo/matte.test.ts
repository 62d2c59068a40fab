import sharp from 'sharp';
import { expect, test } from 'vitest';
import { EngineError, MissingBundleError } from '../base/errors.js';
import type { Matte } from '../base/image.js';
import { decode } from './decode.js';
import { matte, type PredictMatte } from './matte.js';

const notCalled = () => expect.fail('the network must not run');
const coverage = ({ data }: Matte) => data.reduce((sum, value) => sum + value, 0) / 255 / data.length;
const at = ({ width, height, data }: Matte, x: number, y: number) =>
  data[Math.floor(y * height) * width + Math.floor(x * width)]!;

/** An RGBA PNG of an SVG. */
async function cutout(shapes: string, width = 200, height = 200): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${shapes}</svg>`;
  return sharp(Buffer.from(svg)).ensureAlpha().png().toBuffer();
}

test('the message for an image of 20 pixels without an object names its size', async () => {
  const bytes = await sharp({ create: { width: 20, height: 24, channels: 3, background: '#66aa88' } })
    .png()
    .toBuffer();
  await expect(matte(await decode(bytes), async () => undefined)).rejects.toMatchObject({
    code: 'no_foreground',
    message: expect.stringMatching(/20 x 24 pixels: send a larger one/),
  });
});

test('an alpha channel that cuts out the object is the matte, and no network runs', async () => {
  const mug =
    '<rect x="40" y="50" width="80" height="100"/><circle cx="125" cy="100" r="30" stroke-width="12" fill="none"/>';
  const bytes = await cutout(`<g fill="#2468ac" stroke="#2468ac">${mug}</g>`);
  const { matte: result, isFramed } = await matte(await decode(bytes), notCalled);
  expect(isFramed).toBe(false);
  const alpha = await sharp(bytes).extractChannel(3).raw().toBuffer();
  expect(result.data).toEqual(new Uint8Array(alpha));
});

test('a cutout may touch the lower edge, like a bust', async () => {
  const bytes = await cutout(
    '<g fill="#2468ac"><circle cx="100" cy="70" r="40"/><rect x="30" y="120" width="140" height="80" rx="30"/></g>',
  );
  const { matte: result } = await matte(await decode(bytes), notCalled);
  expect(at(result, 0.5, 0.99)).toBe(255);
});

test('a fully transparent image is no_foreground, and no network runs', async () => {
  const decoded = await decode(await cutout(''));
  await expect(matte(decoded, notCalled)).rejects.toMatchObject({
    code: 'no_foreground',
    message: expect.stringContaining('This image is fully transparent'),
  });
});

/** An image of a photo of a blue disc on a light wall, in a transparent frame of `shape` in an SVG of 400 x 400. */
async function framed(shape: string, content = '<circle cx="200" cy="200" r="70" fill="#1850c0"/>'): Promise<Buffer> {
  const photo = `<g clip-path="url(#frame)"><rect width="400" height="400" fill="#e8e4da"/>${content}</g>`;
  return cutout(`<clipPath id="frame">${shape}</clipPath>${photo}`, 400, 400);
}

/** Stands in for a matting network: finds what is blue. */
const predictBlue: PredictMatte = async ({ width, height, data }) => {
  const blue = (i: number) => data[4 * i + 2]! > data[4 * i]! + 80;
  return { width, height, data: Uint8Array.from({ length: width * height }, (_, i) => (blue(i) ? 255 : 0)) };
};

test.each([
  ['padded to a square', '<rect y="60" width="400" height="280"/>'],
  ['with a border of 2 pixels', '<rect x="2" y="2" width="396" height="396"/>'],
  ['with slightly rounded corners', '<rect x="20" y="50" width="360" height="300" rx="9"/>'],
  ['a window with rounded upper corners', '<path d="M50,350 V74 a24,24 0 0 1 24,-24 H326 a24,24 0 0 1 24,24 V350 Z"/>'],
])('a photo in a transparent frame, %s, is searched for its object', async (_, shape) => {
  const { matte: result, isFramed } = await matte(await decode(await framed(shape)), predictBlue);
  expect(isFramed).toBe(false);
  expect(coverage(result)).toBeCloseTo((Math.PI * 70 ** 2) / 400 ** 2, 2);
  expect(at(result, 0.5, 0.5)).toBe(255);
  expect(at(result, 0.5, 0.3)).toBe(0);
  // The disc's outline is where it is in the image, within a pixel.
  for (const angle of [0, 1, 2, 3, 4, 5]) {
    const [x, y] = [Math.cos(angle), Math.sin(angle)];
    expect(at(result, 0.5 + (68.5 / 400) * x, 0.5 + (68.5 / 400) * y)).toBeGreaterThan(200);
    expect(at(result, 0.5 + (71.5 / 400) * x, 0.5 + (71.5 / 400) * y)).toBeLessThan(55);
  }
});

test.each([
  ['a face of it', '90,60 300,90 350,330 70,310'],
  ['two faces of it', '60,80 220,50 350,90 340,300 220,350 70,290'],
  ['a face of it from nearly in front', '60,60 340,66 336,334 62,340'],
])('the outline of a box seen at an angle, %s, is not taken for a frame', async (_, points) => {
  const bytes = await framed(`<polygon points="${points}"/>`);
  const { matte: result, isFramed } = await matte(await decode(bytes), notCalled);
  expect(isFramed).toBe(false);
  expect(at(result, 0.3, 0.3)).toBe(255);
});

test('the shadow around a screenshot of a window does not hide that the window is a rectangle', async () => {
  const shadow = '<rect x="40" y="40" width="320" height="320" rx="40" fill="#000000" fill-opacity="0.4"/>';
  const window = '<rect x="80" y="70" width="240" height="240" rx="6" fill="#e8e4da"/>';
  const bytes = await cutout(`${shadow}${window}<circle cx="200" cy="190" r="70" fill="#1850c0"/>`, 400, 400);
  const { matte: result } = await matte(await decode(bytes), predictBlue);
  expect(coverage(result)).toBeCloseTo((Math.PI * 70 ** 2) / 400 ** 2, 2);
});

test.each<[string, string, PredictMatte]>([
  ['nothing stands out', '', async () => undefined],
  ['its object touches the frame', '<rect x="100" width="200" height="400" fill="#1850c0"/>', predictBlue],
  ['its object is the whole', '<rect width="400" height="400" fill="#1850c0"/>', predictBlue],
])('a book is kept as the object, and reported, where %s', async (_, content, predict) => {
  const bytes = await framed('<rect x="80" y="60" width="240" height="280"/>', content);
  const { matte: result, isFramed } = await matte(await decode(bytes), predict);
  expect(isFramed).toBe(true);
  expect(coverage(result)).toBeCloseTo((240 * 280) / 400 ** 2, 2);
});

test('a rectangle is kept as the object where no background remover is installed', async () => {
  const cause = new MissingBundleError('The bundle "isnet" is missing');
  const missing = () => Promise.reject(new EngineError('inference_failed', 'No background remover.', { cause }));
  const bytes = await framed('<rect x="80" y="60" width="240" height="280"/>');
  expect(await matte(await decode(bytes), missing)).toMatchObject({ isFramed: true });
});

test('an object that is half transparent is no_foreground, and the message says how opaque it is', async () => {
  const bytes = await cutout('<circle cx="100" cy="100" r="60" fill="#1850c0" fill-opacity="0.45"/>');
  await expect(matte(await decode(bytes), predictBlue)).rejects.toMatchObject({
    code: 'no_foreground',
    message: expect.stringMatching(/nothing in it is more than 45 % opaque/),
  });
});

test('a mask that is upside down is no_foreground, and the message says so', async () => {
  const hole = '<path fill-rule="evenodd" fill="#e8e4da" d="M0 0h200v200h-200zM60 60v80h80v-80z"/>';
  for (const predict of [predictBlue, async () => undefined]) {
    await expect(matte(await decode(await cutout(hole)), predict)).rejects.toMatchObject({
      code: 'no_foreground',
      message: expect.stringMatching(/mask may be upside down/),
    });
  }
});
