/**
 * Values of a row that share a scale. With one scale for each, an outlier costs only its block precision. The graphs are
 * made for this size (models/lab/exporters/onnx_graph.py); onnxruntime is faster with it than with 32 or 64.
 */
const blockSize = 128;

/** A weight's scales are named after the weight, with this suffix. */
const suffix = '.scales';

/** A tensor of 8-bit integers, or their scales, as a graph with `MatMulNBits` takes them. */
interface QuantizedPart {
  readonly name: string;
  readonly dtype: string;
  /** Values have the shape [rows, blocks, values of a block], scales [rows, blocks]. */
  readonly shape: readonly number[];
}

export const isQuantized = ({ name, dtype }: QuantizedPart): boolean => dtype === 'U8' || name.endsWith(suffix);

/** Returns the name and shape of the checkpoint's tensor from which the weight and its scales are made. */
export function unquantized({ name, shape: [rows = 0, blocks = 0] }: QuantizedPart): {
  readonly name: string;
  readonly shape: readonly number[];
} {
  return { name: name.endsWith(suffix) ? name.slice(0, -suffix.length) : name, shape: [rows, blocks * blockSize] };
}

/**
 * Rounds whole blocks of values to multiples of their scale: value = (integer - 128) · scale.
 *
 * A block with NaN gets the scale NaN, so that the bundle's test finds it.
 */
export function quantize(values: Float32Array): { readonly integers: Uint8Array; readonly scales: Float32Array } {
  const integers = new Uint8Array(values.length);
  const scales = new Float32Array(values.length / blockSize);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockSize;
    let peak = 0;
    for (let i = start; i < start + blockSize; i++) peak = Math.max(peak, Math.abs(values[i]!));
    const scale = peak / 127;
    scales[block] = scale;
    for (let i = start; i < start + blockSize; i++) integers[i] = 128 + Math.round(values[i]! / (scale || 1));
  }
  return { integers, scales };
}
