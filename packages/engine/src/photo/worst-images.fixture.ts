import sharp, { type Sharp } from 'sharp';

const noise = (side: number): Sharp => {
  const data = new Uint8Array(500 * 500 * 4).map((_, i) => (Math.imul(i + 1, 2654435761) >>> 24) & 255);
  return sharp(data, { raw: { width: 500, height: 500, channels: 4 } }).resize(side, side, { kernel: 'nearest' });
};

/** Square images in encodings for which the decoder holds the whole image in memory. */
export const worstEncodings = {
  'an interlaced PNG of 16 bits': (side) =>
    noise(side).toColorspace('rgb16').png({ progressive: true, compressionLevel: 1 }).toBuffer(),
  'a progressive JPEG': (side) =>
    noise(side).removeAlpha().jpeg({ progressive: true, chromaSubsampling: '4:4:4', quality: 50 }).toBuffer(),
  'a lossless WebP': (side) => noise(side).webp({ lossless: true, effort: 0 }).toBuffer(),
} satisfies Record<string, (side: number) => Promise<Uint8Array>>;
