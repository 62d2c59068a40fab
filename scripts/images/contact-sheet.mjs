import { existsSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { readModel } from '../../packages/convert/dist/index.js';
import { renderView } from '../../packages/engine/dist/index.js';
import { Failed } from '../processes.mjs';
import { demoPhotos, requireFrom, root } from '../repository.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

export const views = {
  threeQuarter: { yawRadians: 0.56, pitchRadians: 0.3 },
  front: { yawRadians: 0, pitchRadians: 0.15 },
  side: { yawRadians: Math.PI / 2, pitchRadians: 0.15 },
  back: { yawRadians: Math.PI, pitchRadians: 0.15 },
  otherSide: { yawRadians: -Math.PI / 2, pitchRadians: 0.15 },
  backQuarter: { yawRadians: Math.PI + 0.56, pitchRadians: 0.3 },
  top: { yawRadians: 0, pitchRadians: 1.45 },
};

/** @typedef {keyof typeof views} Side */
/** @type {readonly Side[]} */
const defaultSides = ['threeQuarter', 'front', 'side', 'back'];
const background = '#fff';

/**
 * Renders photos and their models from several sides, one model per row.
 *
 * @param {ReadonlyArray<{ photo: string, others?: readonly string[], glb: string }>} pairs paths; `others` are photos of
 *   other sides of the object
 * @param {object} [options]
 * @param {number} [options.size] width and height of each tile in pixels
 * @param {readonly Side[]} [options.sides]
 * @param {number} [options.quality] of the JPEG
 * @returns the JPEG's bytes
 */
export async function contactSheet(pairs, { size = 320, sides = defaultSides, quality = 86 } = {}) {
  const tiles = [];
  for (const { photo, others = [], glb } of pairs) {
    tiles.push(await photosTile([photo, ...others], size), ...(await modelTiles(glb, { size, sides })));
  }
  return tile(tiles, 1 + sides.length, size)
    .jpeg({ quality, mozjpeg: true })
    .toBuffer();
}

/**
 * Fits a photo into a square of white.
 *
 * @param {string} photo path
 * @param {number} size width and height in pixels
 */
export const photoTile = (photo, size) =>
  sharp(photo).rotate().flatten({ background }).resize(size, size, { fit: 'contain', background }).png().toBuffer();

/**
 * Fits one photo, or up to four, into a square of white.
 *
 * @param {readonly string[]} photos paths
 * @param {number} size width and height in pixels
 */
export async function photosTile(photos, size) {
  if (photos.length === 1) return photoTile(photos[0], size);
  const half = Math.floor(size / 2);
  const tiles = await Promise.all(photos.map((photo) => photoTile(photo, half)));
  const grid = await tile(tiles, 2, half).png().toBuffer();
  return sharp(grid).resize(size, size, { fit: 'contain', background }).png().toBuffer();
}

/**
 * Renders a model from several sides.
 *
 * @param {string} glb path
 * @param {{ size: number, sides: readonly Side[] }} options `size` is the width and height of each image in pixels
 */
export async function modelTiles(glb, { size, sides }) {
  const { mesh, baseColor } = await readGlb(readFileSync(glb));
  const tiles = sides.map((side) => {
    const { data } = renderView(mesh, baseColor, { width: size, height: size, supersample: 2, ...views[side] });
    return sharp(data, { raw: { width: size, height: size, channels: 4 } })
      .png()
      .toBuffer();
  });
  return Promise.all(tiles);
}

/**
 * Arranges square images in a grid on white.
 *
 * @param {readonly Buffer[]} images encoded
 * @param {number} columns
 * @param {number} size of each image in pixels
 */
export const tile = (images, columns, size) =>
  sharp({
    create: { width: columns * size, height: Math.ceil(images.length / columns) * size, channels: 3, background },
  }).composite(
    images.map((input, index) => ({
      input,
      left: (index % columns) * size,
      top: Math.floor(index / columns) * size,
    })),
  );

/**
 * Reads the mesh and the decoded base color texture of a GLB that the engine wrote.
 *
 * @param {Uint8Array} glb
 * @returns {Promise<{
 *   mesh: import('../../packages/engine/dist/index.js').TexturedMesh,
 *   baseColor: import('../../packages/engine/dist/index.js').RgbaImage,
 * }>}
 */
export async function readGlb(glb) {
  const { parts, materials } = await readModel(glb);
  const [{ positions, normals, uvs, indices }] = parts;
  const { texture } = materials[0];
  if (!normals || !uvs || !texture) throw new TypeError('The GLB was not written by the engine');
  const { data, info } = await sharp(texture.bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { mesh: { positions, normals, uvs, indices }, baseColor: { width: info.width, height: info.height, data } };
}

/** The demo photos with the models that `npm run demo` has made of them. */
export function demoModels() {
  const models = demoPhotos().map((photo) => ({ photo, glb: join(root, `demo-output/${parse(photo).name}.glb`) }));
  if (!models.every(({ glb }) => existsSync(glb))) throw new Failed('Run `npm run demo` first: it makes the models.');
  return models;
}
