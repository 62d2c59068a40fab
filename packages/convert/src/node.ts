import { adjustGlb } from './adjust-glb.js';
import type { ModelTools } from './convert-model.js';

/**
 * Provides what `convertModel` needs to run in Node.
 *
 * @example
 * const { files } = await convertModel(glb, 'glb', { ...nodeTools, name: 'mug', triangles: 5_000, texture: 512 });
 */
export const nodeTools = { adjustGlb } satisfies ModelTools;
