import { readModel } from '../../packages/convert/dist/index.js';
import { requireFrom } from '../repository.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

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
