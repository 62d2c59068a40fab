import sharp, { type Sharp } from 'sharp';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    soak: boolean;
  }
}

/** Whether this is the long run, `npm run test:soak`. */
export const soak = inject('soak');

/** Generates pseudo-random numbers in 0..1 from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

/** Makes an unusual image, of any shape, size and format, with or without alpha. */
export async function randomPhoto(random: () => number): Promise<{ bytes: Uint8Array; what: string }> {
  const [width, height] = pick(random, [
    [64, 64],
    [300, 200],
    [512, 512],
    [97, 1030],
    [1400, 90],
    [1600, 1200],
    [33, 47],
  ] as const);
  const drawing = pick(random, Object.keys(drawings));
  const ground = pick(random, ['', '', '', `<rect width="1000" height="1000" fill="${color(random)}"/>`]);
  const shapes = drawings[drawing]!(random);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000" preserveAspectRatio="none" width="${width}" height="${height}">${ground}${shapes}</svg>`;
  const image = sharp(Buffer.from(svg)).resize(width, height, { fit: 'fill' });
  const format = pick(random, ['png', 'png', 'webp', 'jpeg', 'png16', 'gray'] as const);
  const bytes = await encode(image, format);
  const what = `${drawing}, ${width}x${height}, ${format}${ground ? ', no alpha' : ''}`;
  if (random() < 0.06)
    return { bytes: bytes.subarray(0, Math.floor(bytes.length * random())), what: `${what}, cut off` };
  return { bytes, what };
}

function encode(image: Sharp, format: 'png' | 'webp' | 'jpeg' | 'png16' | 'gray'): Promise<Buffer> {
  if (format === 'webp') return image.webp().toBuffer();
  if (format === 'jpeg') return image.flatten({ background: '#f4f4f4' }).jpeg().toBuffer();
  if (format === 'png16') return image.toColorspace('rgb16').png().toBuffer();
  if (format === 'gray') return image.greyscale().png().toBuffer();
  return image.png().toBuffer();
}

const color = (random: () => number) => `rgb(${[0, 0, 0].map(() => Math.floor(256 * random())).join()})`;
const between = (random: () => number, low: number, high: number) => low + (high - low) * random();

const drawings: Readonly<Record<string, (random: () => number) => string>> = {
  nothing: () => '',
  everything: (random) => `<rect width="1000" height="1000" fill="${color(random)}"/>`,
  dot: (random) => `<circle cx="500" cy="500" r="${between(random, 2, 30)}" fill="${color(random)}"/>`,
  blobs: (random) =>
    Array.from(
      { length: 1 + Math.floor(6 * random()) },
      () =>
        `<circle cx="${between(random, 100, 900)}" cy="${between(random, 100, 900)}" r="${between(random, 30, 300)}" fill="${color(random)}"/>`,
    ).join(''),
  ring: (random) =>
    `<circle cx="500" cy="500" r="${between(random, 150, 440)}" fill="none" stroke="${color(random)}" stroke-width="${between(random, 4, 110)}"/>`,
  polygon: (random) =>
    `<polygon fill="${color(random)}" fill-rule="${pick(random, ['evenodd', 'nonzero'])}" points="${Array.from({ length: 3 + Math.floor(9 * random()) }, () => `${1000 * random()},${1000 * random()}`).join(' ')}"/>`,
  grid: (random) => {
    const step = between(random, 60, 250);
    const lines = Array.from({ length: Math.floor(1000 / step) }, (_, k) => (k + 0.5) * step);
    const width = between(random, 3, 40);
    const stroke = `stroke="${color(random)}" stroke-width="${width}"`;
    return lines.map((at) => `<path d="M${at} 30V970M30 ${at}H970" ${stroke}/>`).join('');
  },
  haze: (random) =>
    `<rect x="100" y="100" width="800" height="800" fill="${color(random)}" opacity="${between(random, 0.05, 0.9)}"/>`,
  speckle: (random) =>
    Array.from(
      { length: 400 },
      () => `<rect x="${1000 * random()}" y="${1000 * random()}" width="6" height="6" fill="${color(random)}"/>`,
    ).join(''),
};
