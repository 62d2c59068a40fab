interface Corner {
  readonly at: readonly number[];
  readonly value: number;
}

/**
 * Minimizes a function of several variables, without its derivatives.
 *
 * @param steps by which each variable first differs from `start`
 * @see Nelder and Mead, "A Simplex Method for Function Minimization", 1965
 */
export function minimize(
  valueAt: (variables: readonly number[]) => number,
  start: readonly number[],
  steps: readonly number[],
  maxRounds: number,
): readonly number[] {
  const corner = (at: readonly number[]): Corner => ({ at, value: valueAt(at) });
  let corners = [corner(start)];
  for (let i = 0; i < start.length; i++) corners.push(corner(start.with(i, start[i]! + steps[i]!)));
  for (let round = 0; ; round++) {
    corners.sort((a, b) => a.value - b.value);
    const best = corners[0]!;
    const worst = corners.at(-1)!;
    if (round === maxRounds || worst.value - best.value < 1e-5) return best.at;
    const middle = start.map((_, i) => corners.slice(0, -1).reduce((sum, { at }) => sum + at[i]!, 0) / start.length);
    /** The point on the line from the worst corner through the middle of the others; 0 is the middle. */
    const beyond = (share: number) => corner(middle.map((value, i) => value + share * (value - worst.at[i]!)));
    const reflected = beyond(1);
    let next: Corner | undefined = reflected;
    if (reflected.value < best.value) {
      const expanded = beyond(2);
      if (expanded.value < reflected.value) next = expanded;
    } else if (reflected.value >= corners.at(-2)!.value) {
      const contracted = beyond(reflected.value < worst.value ? 0.5 : -0.5);
      next = contracted.value < Math.min(reflected.value, worst.value) ? contracted : undefined;
    }
    if (next) corners[corners.length - 1] = next;
    else corners = corners.map((old) => (old === best ? old : corner(old.at.map((v, i) => (v + best.at[i]!) / 2))));
  }
}
