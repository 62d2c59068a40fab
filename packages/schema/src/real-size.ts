/** Scales a model so that one of its sides has this length. The proportions stay. */
export interface RealSize {
  readonly side: 'longest' | 'height' | 'width';
  readonly meters: number;
}

/** Fields of a job's `options` that give the real size of the object (docs/job-list.md). */
const sides = { real_size: 'longest', real_height: 'height', real_width: 'width' } as const;

export type RealSizeOptions = { readonly [name in keyof typeof sides]?: string };

/** The real size of an object: the length of one side. Its model has this size in meters. Default: one meter. */
export interface RealSizeTexts {
  /** The longest side, such as `80mm`, `8cm`, `0.3m` or `3in`. Only gen3d servers apply it, with a key of your own. */
  readonly size?: string | undefined;
  /** The height instead. */
  readonly height?: string | undefined;
  /** The width instead, seen from the front. */
  readonly width?: string | undefined;
}

/**
 * Makes the fields of a job's `options` from lengths.
 *
 * @throws {RangeError} that says which length is invalid, or that there is more than one
 * @example
 * realSizeOptions({ height: '8cm' }); // { real_height: '8cm' }
 */
export function realSizeOptions({ size, height, width }: RealSizeTexts): RealSizeOptions {
  const lengths = Object.entries({ size, height, width }).filter(([, text]) => text !== undefined);
  if (lengths.length > 1) throw new RangeError('Use only one of size, height and width');
  for (const [name, text] of lengths) {
    try {
      parseLength(text!);
    } catch (error) {
      throw new RangeError(`${name}: ${(error as Error).message}`);
    }
  }
  return Object.fromEntries(lengths.map(([name, text]) => [`real_${name}`, text]));
}

/** Reads the real size from a job's `options`. Undefined if they have none that is valid. */
export function readRealSize(options: Readonly<Record<string, unknown>>): RealSize | undefined {
  for (const [name, side] of Object.entries(sides)) {
    const text = options[name];
    if (typeof text !== 'string') continue;
    try {
      return { side, meters: parseLength(text) };
    } catch {
      // The contract accepts options whatever they hold.
    }
  }
  return undefined;
}

/** Describes a real size, such as `80 mm (height)`. */
export function describeRealSize({ side, meters }: RealSize): string {
  const [unit, factor] = meters < 1 ? ['mm', 1000] : ['m', 1];
  return `${Number((meters * factor).toPrecision(6))} ${unit} (${side === 'longest' ? 'longest side' : side})`;
}

const metersPerUnit: Record<string, number> = { mm: 0.001, cm: 0.01, m: 1, in: 0.0254 };

/**
 * Reads a length with its unit.
 *
 * @returns meters
 * @throws {RangeError} if it is not a positive number followed by mm, cm, m or in
 * @example
 * parseLength('80mm'); // 0.08
 */
export function parseLength(text: string): number {
  const [, number = '', unit = ''] = /^\s*(\d*\.?\d+)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const meters = Number(number) * (metersPerUnit[unit.toLowerCase()] ?? Number.NaN);
  // The limits of a float32 with a micrometer's precision, and of what a printer or a scene can hold.
  if (meters >= 0.0001 && meters <= 10_000) return meters;
  const problem = number !== '' && unit === '' ? 'has no unit' : 'is not a length from 0.1mm to 10000m';
  throw new RangeError(`"${text}" ${problem}. Write it as 80mm, 8cm, 0.3m or 3in`);
}
