/** The lesser of two, the corner between them rounded where they are less than `rounding` apart; never above either. */
export function smoothMin(a: number, b: number, rounding: number): number {
  const overlap = Math.max(rounding - Math.abs(a - b), 0) / rounding;
  return Math.min(a, b) - overlap * overlap * rounding * 0.25;
}
