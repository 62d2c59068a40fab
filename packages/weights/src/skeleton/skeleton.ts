import { BundleError } from '@gen3d/engine/bundles';
import type { CheckpointIndex } from '../checkpoint/read-checkpoint.js';
import type { DType } from '../checkpoint/tensor-record.js';
import { bytesField, type Field, fieldsOf, packedVarints, textField } from './protobuf.js';

/** A weight that a skeleton takes from a checkpoint. */
export interface MissingWeight {
  /** The name under which the checkpoint is published. */
  readonly checkpoint: string;
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

// Field numbers of onnx.proto3, https://github.com/onnx/onnx/blob/v1.20.0/onnx/onnx.proto3
const model = { graph: 7 };
const graph = { initializer: 5 };
const tensor = { dims: 1, dataType: 2, name: 8, externalData: 13, dataLocation: 14 };
const externalData = { key: 1, value: 2 };
const external = 1;
const dataTypes: ReadonlyMap<number, DType> = new Map([
  [1, 'F32'],
  [10, 'F16'],
]);

/**
 * Lists the weights that an ONNX graph expects in another file: its initializers with external data.
 *
 * @throws {BundleError} if it is not an ONNX graph, or a weight has another type than float32 and float16
 */
export function missingWeights(skeleton: Buffer): MissingWeight[] {
  const weights: MissingWeight[] = [];
  rewriteInitializers(skeleton, (initializer) => {
    weights.push(describe(initializer));
    return initializer;
  });
  return weights;
}

/**
 * Writes the location of its external weights into an ONNX graph.
 *
 * @param location the name of the weights' file, in the folder of the graph
 * @throws {BundleError} naming a weight that `index` lacks or has with another shape or type
 */
export function completeSkeleton(skeleton: Buffer, location: string, index: CheckpointIndex): Buffer {
  return rewriteInitializers(skeleton, (initializer) => {
    const { name, dtype, shape } = describe(initializer);
    const found = index.get(name);
    if (found?.dtype !== dtype || !sameShape(found.shape, shape)) {
      throw new BundleError(`${location} has no tensor "${name}" of type ${dtype} and shape [${shape.join(', ')}]`);
    }
    const kept = [...fieldsOf(initializer)].filter(({ number }) => number !== tensor.externalData);
    const entries = { location, offset: String(found.offset), length: String(found.length) };
    return Buffer.concat([
      ...kept.map(({ bytes }) => bytes),
      ...Object.entries(entries).map(([key, value]) =>
        bytesField(
          tensor.externalData,
          Buffer.concat([textField(externalData.key, key), textField(externalData.value, value)]),
        ),
      ),
    ]);
  });
}

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, axis) => size === b[axis]);

/** Copies an ONNX file and replaces each initializer that has external data. */
function rewriteInitializers(bytes: Buffer, replace: (initializer: Buffer) => Buffer): Buffer {
  try {
    return mapFields(bytes, model.graph, (content) =>
      mapFields(content, graph.initializer, (initializer) =>
        isExternal(initializer) ? replace(initializer) : initializer,
      ),
    );
  } catch (cause) {
    if (cause instanceof RangeError) throw new BundleError('The skeleton is not an ONNX graph', { cause });
    throw cause;
  }
}

function mapFields(message: Buffer, number: number, map: (content: Buffer) => Buffer): Buffer {
  const replaced = (field: Field) => (field.number === number ? bytesField(number, map(field.content)) : field.bytes);
  return Buffer.concat([...fieldsOf(message)].map(replaced));
}

const isExternal = (initializer: Buffer): boolean =>
  [...fieldsOf(initializer)].some(({ number, value }) => number === tensor.dataLocation && value === external);

function describe(initializer: Buffer): MissingWeight {
  const fields = [...fieldsOf(initializer)];
  const name = fields.find(({ number }) => number === tensor.name)?.content.toString('utf8') ?? '';
  const type = fields.find(({ number }) => number === tensor.dataType)?.value ?? 0;
  const dtype = dataTypes.get(type);
  if (!dtype)
    throw new BundleError(`The skeleton's weight "${name}" has the ONNX type ${type}, not float32 or float16`);
  const shape = fields.filter(({ number }) => number === tensor.dims).flatMap(sizes);
  return { checkpoint: locationOf(fields), name, dtype, shape };
}

function locationOf(fields: readonly Field[]): string {
  for (const { number, content } of fields) {
    if (number !== tensor.externalData) continue;
    const [key, value] = [...fieldsOf(content)].map((field) => field.content.toString('utf8'));
    if (key === 'location') return value ?? '';
  }
  return '';
}

/** Reads sizes, each of which is a field, or which are all packed into one. */
const sizes = ({ wireType, value, content }: Field): number[] => (wireType === 0 ? [value] : packedVarints(content));
