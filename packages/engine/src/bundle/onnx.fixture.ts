/**
 * Writes small ONNX graphs for the bundles of tests: only the necessary fields of onnx.proto, in protobuf's wire
 * format.
 */

/** A graph input or output. A string is an open size. */
export interface OnnxValue {
  readonly name: string;
  readonly shape: readonly (number | string)[];
  /** Default float32. */
  readonly type?: 'float32' | 'float16';
}

export interface OnnxNode {
  readonly op: string;
  /** The domain of the operator. Default: ONNX's own. */
  readonly domain?: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Integers, lists of integers, strings. */
  readonly attributes?: Readonly<Record<string, number | readonly number[] | string>>;
}

export interface OnnxWeights {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | BigInt64Array;
  /** If set, the values are in another file instead of the graph, in this precision. */
  readonly external?: 'float32' | 'float16';
}

export interface OnnxGraph {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly nodes: readonly OnnxNode[];
  readonly weights?: readonly OnnxWeights[];
}

/** Encodes an ONNX file with this graph, in operator set 20. */
export function onnxFile({ inputs, outputs, nodes, weights = [] }: OnnxGraph): Uint8Array {
  const graph = [
    ...nodes.map((node) => message(1, nodeProto(node))),
    text(2, 'graph'),
    ...weights.map((tensor) => message(5, tensorProto(tensor))),
    ...inputs.map((value) => message(11, valueInfo(value))),
    ...outputs.map((value) => message(12, valueInfo(value))),
  ];
  return Buffer.concat([
    integer(1, 9),
    message(8, [text(1, ''), integer(2, 20)]),
    message(8, [text(1, 'com.microsoft'), integer(2, 1)]),
    message(7, graph),
  ]);
}

const float32 = 1;
const int64 = 7;
const float16 = 10;

const nodeProto = ({ op, domain = '', inputs, outputs, attributes = {} }: OnnxNode) => [
  ...inputs.map((name) => text(1, name)),
  ...outputs.map((name) => text(2, name)),
  text(4, op),
  text(7, domain),
  ...Object.entries(attributes).map(([name, value]) => message(5, [text(1, name), ...attribute(value)])),
];

function attribute(value: number | readonly number[] | string): Uint8Array[] {
  if (typeof value === 'number') return [integer(3, value), integer(20, 2)];
  if (typeof value === 'string') return [text(4, value), integer(20, 3)];
  return [...value.map((one) => integer(8, one)), integer(20, 7)];
}

const tensorProto = ({ name, shape, data, external }: OnnxWeights) => {
  const dims = shape.map((size) => integer(1, size));
  if (external) {
    const location = message(13, [text(1, 'location'), text(2, 'weights')]);
    return [...dims, integer(2, external === 'float16' ? float16 : float32), text(8, name), location, integer(14, 1)];
  }
  const type = data instanceof Float32Array ? float32 : int64;
  return [
    ...dims,
    integer(2, type),
    text(8, name),
    bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  ];
};

const valueInfo = ({ name, shape, type }: OnnxValue) => {
  const sizes = shape.map((size) => message(1, [typeof size === 'number' ? integer(1, size) : text(2, size)]));
  const tensor = [integer(1, type === 'float16' ? float16 : float32), message(2, sizes)];
  return [text(1, name), message(2, [message(1, tensor)])];
};

// https://protobuf.dev/programming-guides/encoding: a field is its number and wire type, then a varint or counted
// bytes.
const integer = (field: number, value: number) => Buffer.from([...varint(field << 3), ...varint(value)]);
const bytes = (field: number, content: Uint8Array) =>
  Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(content.length)]), content]);
const text = (field: number, value: string) => bytes(field, Buffer.from(value));
const message = (field: number, parts: readonly Uint8Array[]) => bytes(field, Buffer.concat(parts));

function varint(value: number): number[] {
  const digits: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...digits, rest];
    digits.push((rest % 128) + 128);
  }
}
