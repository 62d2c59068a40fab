import { readModel } from '../../../convert/src/model-parts.js';
import type { RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { sharp } from '../base/sharp.js';

/** Reads the mesh and the decoded base color texture of a GLB that `writeGlb` wrote. */
export async function readGlb(glb: Uint8Array): Promise<{ mesh: TexturedMesh; baseColor: RgbaImage }> {
  const { parts, materials } = await readModel(glb);
  const { positions, normals, uvs, indices } = parts[0]!;
  const texture = materials[0]!.texture!.bytes;
  const { data, info } = await sharp(texture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const mesh = { positions, normals: normals!, uvs: uvs!, indices };
  return { mesh, baseColor: { width: info.width, height: info.height, data } };
}
