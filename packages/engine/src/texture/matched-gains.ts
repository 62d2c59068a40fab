/** The colors of the same points in two photos. */
interface Look {
  /** [N] 0..1 */
  readonly seen: Float64Array;
  /** [3·N] linear light. */
  readonly colors: Float64Array;
}

/** Points that both photos show less than this do not count. */
const minSeen = 0.05;
/** Linear values outside this range are noise or clipped. */
const [darkest, brightest] = [0.004, 0.95];
/** A difference of logarithms by this is more often another surface than another exposure. */
const usualDifference = 0.5;
/** How much each gain is drawn to 1, in points that two photos show. */
const restraint = 5;

/**
 * Finds the factors of each photo's channels that make its colors those of the first photo, where two photos show the
 * same points: photos differ in exposure and white balance.
 *
 * @returns three factors for each photo; those of the first are 1
 */
export function matchedGains(looks: readonly Look[], points: number): Float64Array[] {
  const gains = looks.map(() => Float64Array.of(1, 1, 1));
  for (let channel = 0; channel < 3; channel++) {
    const logarithms = solve(looks, points, channel);
    for (let photo = 1; photo < looks.length; photo++) gains[photo]![channel] = Math.exp(logarithms[photo]!);
  }
  return gains;
}

/** Solves for the logarithms by Gauss and Seidel: there are at most four. */
function solve(looks: readonly Look[], points: number, channel: number): Float64Array {
  const count = looks.length;
  const weights = new Float64Array(count * count);
  const differences = new Float64Array(count * count);
  for (let point = 0; point < points; point++) {
    for (let a = 0; a < count; a++) {
      for (let b = 0; b < count; b++) {
        const both = a === b ? 0 : looks[a]!.seen[point]! * looks[b]!.seen[point]!;
        if (both < minSeen) continue;
        const [one, other] = [looks[a]!.colors[3 * point + channel]!, looks[b]!.colors[3 * point + channel]!];
        if (Math.min(one, other) < darkest || Math.max(one, other) > brightest) continue;
        const difference = Math.log(other / one);
        const weight = both / (1 + (difference / usualDifference) ** 2);
        weights[a * count + b]! += weight;
        differences[a * count + b]! += weight * difference;
      }
    }
  }
  const logarithms = new Float64Array(count);
  for (let sweep = 0; sweep < 50; sweep++) {
    for (let a = 1; a < count; a++) {
      let [sum, total] = [0, restraint];
      for (let b = 0; b < count; b++) {
        sum += differences[a * count + b]! + weights[a * count + b]! * logarithms[b]!;
        total += weights[a * count + b]!;
      }
      logarithms[a] = sum / total;
    }
  }
  return logarithms;
}
