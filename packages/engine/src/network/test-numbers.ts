/** Points or rows for a decoder in a comparison of devices, unless its graph requires another number. */
export const exercisedRows = 4096;

/** Pseudo-random numbers in 0..1, the same in every run. @see Numerical Recipes, 2nd edition, section 7.1 */
export function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
