import type { ModelFormat, ModelOptions } from './options.js';

/** The names in OBJ and MTL files, which separate words by spaces. Web viewers request them as URLs. */
export function objNames(name: string) {
  const prefix = name.replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '_').replace(/^[-.]+/, '') || 'model';
  return {
    material: `${prefix}.mtl`,
    // A photo often has the name of its model.
    texture: (index: number, extension: string) =>
      `${prefix}-texture${index === 0 ? '' : `-${index + 1}`}.${extension}`,
  };
}

export const levelName = (name: string, level: number): string => `${name}.lod${level}.glb`;

/**
 * Returns the names of the files that a conversion writes besides the model, as far as they do not depend on the model.
 * The GLBs of gen3d have one texture, a JPEG.
 */
export function companionNames(name: string, format: ModelFormat, { lod = 0 }: ModelOptions): string[] {
  if (format === 'obj') return [objNames(name).material, objNames(name).texture(0, 'jpg')];
  return Array.from({ length: format === 'glb' ? lod : 0 }, (_, index) => levelName(name, index + 1));
}
