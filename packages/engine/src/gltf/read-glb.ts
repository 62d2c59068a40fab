import { WebIO } from '@gltf-transform/core';
import type { RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { sharp } from '../base/sharp.js';

/**
 * Reads the mesh and the decoded base color texture of a GLB that `writeGlb` wrote.
 *
 * @throws {TypeError} if the file is not one mesh with one textured primitive, as `writeGlb` makes them
 */
export async function readGlb(glb: Uint8Array): Promise<{ mesh: TexturedMesh; baseColor: RgbaImage }> {
  const root = (await new WebIO().readBinary(glb)).getRoot();
  const primitive = root.listMeshes()[0]?.listPrimitives()[0];
  const attribute = (name: string) => primitive?.getAttribute(name)?.getArray();
  const [positions, normals, uvs] = [attribute('POSITION'), attribute('NORMAL'), attribute('TEXCOORD_0')];
  const indices = primitive?.getIndices()?.getArray();
  const texture = primitive?.getMaterial()?.getBaseColorTexture()?.getImage();
  if (!(positions instanceof Float32Array && normals instanceof Float32Array && uvs instanceof Float32Array)) {
    throw new TypeError('the GLB has no primitive with float positions, normals and texture coordinates');
  }
  if (!indices || !texture) throw new TypeError('the GLB has no indices or no base color texture');
  const { data, info } = await sharp(texture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return {
    mesh: { positions, normals, uvs, indices: Uint32Array.from(indices) },
    baseColor: { width: info.width, height: info.height, data },
  };
}
