import { expect, test } from 'vitest';
import { onnxFile } from '../../../engine/src/bundle/onnx.fixture.js';
import { InferenceSession, Tensor } from '../../../engine/src/network/onnxruntime.js';
import { quantize, unquantized } from './convert-weights.js';

const [rows, columns, photos] = [6, 256, 3];

/** Values in -1..1 that look random and are always the same. */
const values = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, i) => ((Math.sin((i + 1) * seed) * 43_758.5453) % 1) as number);

/** x times the transposed weights, in onnxruntime, with quantized weights. */
async function product(x: Float32Array, weights: Float32Array): Promise<Float32Array> {
  const { integers, scales } = quantize(weights);
  const graph = onnxFile({
    inputs: [{ name: 'x', shape: [photos, columns] }],
    outputs: [{ name: 'y', shape: [photos, rows] }],
    nodes: [
      {
        op: 'MatMulNBits',
        domain: 'com.microsoft',
        inputs: ['x', 'weight', 'weight.scales'],
        outputs: ['y'],
        attributes: { K: columns, N: rows, bits: 8, block_size: 128, accuracy_level: 4 },
      },
    ],
    weights: [
      { name: 'weight', shape: [rows, columns / 128, 128], data: integers },
      { name: 'weight.scales', shape: [rows, columns / 128], data: scales },
    ],
  });
  const session = await InferenceSession.create(graph);
  const { y } = await session.run({ x: new Tensor('float32', x, [photos, columns]) });
  await session.release();
  return y!.data as Float32Array;
}

const exactProduct = (x: Float32Array, weights: Float32Array) =>
  Float32Array.from({ length: photos * rows }, (_, i) => {
    const [photo, row] = [Math.floor(i / rows), i % rows];
    let sum = 0;
    for (let k = 0; k < columns; k++) sum += x[photo * columns + k]! * weights[row * columns + k]!;
    return sum;
  });

const norm = (of: Float32Array) => Math.hypot(...of);
const error = (found: Float32Array, expected: Float32Array) =>
  norm(found.map((value, i) => value - expected[i]!)) / norm(expected);

test("onnxruntime's product with quantized weights is within 2 % of the exact one", async () => {
  const [x, weights] = [values(photos * columns, 12.9898), values(rows * columns, 78.233)];
  expect(error(await product(x, weights), exactProduct(x, weights))).toBeLessThan(0.02);
});

test('an outlier costs only the precision of its block', () => {
  const weights = values(256, 78.233);
  weights[3] = 1_000;
  const { integers, scales } = quantize(weights);
  const restored = Float32Array.from(integers, (value, i) => (value - 128) * scales[Math.floor(i / 128)]!);
  expect(restored[3]).toBeCloseTo(1_000, 3);
  for (let i = 128; i < 256; i++) expect(Math.abs(restored[i]! - weights[i]!)).toBeLessThanOrEqual(0.51 / 127);
});

test('zeros stay zero, and NaN is not hidden', () => {
  const { integers, scales } = quantize(new Float32Array(256).fill(Number.NaN, 200, 201));
  expect([integers[0], scales[0]]).toEqual([128, 0]);
  expect(scales[1]).toBeNaN();
});

test("both parts are made from the checkpoint's tensor of that name", () => {
  const expected = { name: 'layer.weight', shape: [rows, columns] };
  expect(unquantized({ name: 'layer.weight', dtype: 'U8', shape: [rows, 2, 128] })).toEqual(expected);
  expect(unquantized({ name: 'layer.weight.scales', dtype: 'F32', shape: [rows, 2] })).toEqual(expected);
});
