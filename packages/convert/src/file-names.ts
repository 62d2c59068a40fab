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
