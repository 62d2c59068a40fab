/** Scales a model so that one of its sides has this length. The proportions stay. */
export interface RealSize {
  readonly side: 'longest' | 'height' | 'width';
  readonly meters: number;
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
