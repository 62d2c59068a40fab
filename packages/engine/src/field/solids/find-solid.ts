import { findCuboid } from './cuboid/find-cuboid.js';
import { findRevolution } from './revolution/find-revolution.js';
import type { FindSolid } from './solid.js';

/** The kinds of solids whose far side is completed, in the order in which they are tried. */
const kinds: readonly FindSolid[] = [findRevolution, findCuboid];

/** Finds the first kind of solid that explains the outline and the front. Undefined if none does. */
export const findSolid: FindSolid = (outline, front) => {
  for (const find of kinds) {
    const solid = find(outline, front);
    if (solid) return solid;
  }
  return undefined;
};
