import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { requireFrom, root } from '../repository.mjs';

const enginePath = join(root, 'packages/engine/dist/index.js');

export const views = {
  threeQuarter: { yawRadians: 0.56, pitchRadians: 0.3 },
  front: { yawRadians: 0, pitchRadians: 0.15 },
  side: { yawRadians: Math.PI / 2, pitchRadians: 0.15 },
  back: { yawRadians: Math.PI, pitchRadians: 0.15 },
  top: { yawRadians: 0, pitchRadians: 1.45 },
};
const usualSides = ['threeQuarter', 'front', 'side', 'back'];

/**
 * Pictures of a photo and of its model from several sides, in one row.
 *
 * @param pairs `{ photo, glb }`, paths
 * @param size pixels a side of each picture
 * @param sides names of `views`, in the order wanted
 * @returns the JPEG's bytes
 */
export async function contactSheet(pairs, { size = 320, sides = usualSides, quality = 86 } = {}) {
  const sharp = requireFrom('engine')('sharp');
  const { readGlb, renderView } = await import(pathToFileURL(enginePath).href);
  const background = '#fff';
  const tiles = [];
  for (const [row, { photo, glb }] of pairs.entries()) {
    const { mesh, baseColor } = await readGlb(readFileSync(glb));
    const upright = sharp(photo).rotate().flatten({ background });
    tiles.push({ row, input: await upright.resize(size, size, { fit: 'contain', background }).png().toBuffer() });
    for (const side of sides) {
      const { data } = renderView(mesh, baseColor, { width: size, height: size, supersample: 2, ...views[side] });
      tiles.push({
        row,
        input: await sharp(data, { raw: { width: size, height: size, channels: 4 } })
          .png()
          .toBuffer(),
      });
    }
  }
  const columns = 1 + sides.length;
  return sharp({ create: { width: columns * size, height: pairs.length * size, channels: 3, background } })
    .composite(tiles.map(({ row, input }, index) => ({ input, left: (index % columns) * size, top: row * size })))
    .jpeg({ quality, mozjpeg: true })
    .toBuffer();
}
