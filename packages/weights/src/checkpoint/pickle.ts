import { CheckpointError } from './tensor-record.js';

/** A value in a pickle. Nothing is called or imported: globals stay names. */
export type Value = null | boolean | number | string | Tuple | Dict | Global | Persistent | Call;

export class Tuple {
  constructor(readonly items: readonly Value[]) {}
}
export class Dict {
  readonly entries = new Map<Value, Value>();
}
/** A class or function, as `module name`. */
export class Global {
  constructor(readonly name: string) {}
}
/** Stands for a value that is stored outside the pickle, and holds its identifier. */
export class Persistent {
  constructor(readonly id: Value) {}
}
/** A call that Python would make. */
export class Call {
  constructor(
    readonly callee: string,
    readonly args: readonly Value[],
  ) {}
}

const orderedDict = 'collections OrderedDict';
/** Maximum operations, each of at least one byte. */
const maxOperations = 1_000_000;
/** The maximum number of tuples, dictionaries and calls. A tensor takes six. */
const maxContainers = 200_000;

/** Reads the arguments of operations, one after the other. */
class Bytes {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw damaged();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte = () => this.take(1).readUInt8();
  uint32 = () => this.take(4).readUInt32LE();
  text = (length: number) => this.take(length).toString('utf8');

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) throw damaged();
    const found = this.text(end - this.#at);
    this.#at = end + 1;
    return found;
  }

  long(length: number): number {
    const digits = this.take(length);
    if (length === 0) return 0;
    const value =
      length <= 6 ? digits.readIntLE(0, length) : Number(length === 8 ? digits.readBigInt64LE() : Number.NaN);
    if (!Number.isSafeInteger(value)) throw new CheckpointError('its pickle has a number that is too large');
    return value;
  }
}

/** The values of a pickle that is being read, and what its operations do with them. */
class Stack {
  readonly #values: Value[] = [];
  /** Heights of the stack at open marks. */
  readonly #marks: number[] = [];
  readonly #memo = new Map<number, Value>();
  readonly #globals: ReadonlySet<string>;
  #containers = 0;

  constructor(globals: ReadonlySet<string>) {
    this.#globals = globals;
  }

  mark = () => this.#marks.push(this.#values.length);
  push = (value: Value) => this.#values.push(value);

  pushContainer(container: Value): void {
    this.#containers++;
    if (this.#containers > maxContainers) throw new CheckpointError('its pickle is too large for a state dict');
    this.push(container);
  }

  /** Values below a mark cannot be popped. */
  popMany(count: number): Value[] {
    if (this.#values.length - count < (this.#marks.at(-1) ?? 0)) throw damaged();
    return this.#values.splice(this.#values.length - count);
  }

  pop = () => this.popMany(1)[0]!;

  popToMark(): Value[] {
    const height = this.#marks.pop();
    if (height === undefined) throw damaged();
    return this.#values.splice(height);
  }

  top(): Value {
    const value = this.pop();
    this.push(value);
    return value;
  }

  pushGlobal(name: string): void {
    if (!this.#globals.has(name)) {
      throw new CheckpointError(
        `its pickle names ${JSON.stringify(name.replace(' ', '.').slice(0, 100))}, which a state dict does not need. Save only model.state_dict(), or as safetensors`,
      );
    }
    this.pushContainer(new Global(name));
  }

  reduce([callee, args]: Value[]): void {
    if (!(callee instanceof Global) || !(args instanceof Tuple)) throw damaged();
    const isDict = callee.name === orderedDict;
    if (isDict && args.items.length > 0) throw damaged();
    this.pushContainer(isDict ? new Dict() : new Call(callee.name, args.items));
  }

  remember = (index = this.#memo.size) => this.#memo.set(index, this.top());

  recall(index: number): void {
    const value = this.#memo.get(index);
    if (value === undefined) throw damaged();
    this.push(value);
  }

  set(items: readonly Value[]): void {
    const dict = this.top();
    if (!(dict instanceof Dict) || items.length % 2 !== 0) throw damaged();
    for (let i = 0; i < items.length; i += 2) dict.entries.set(items[i]!, items[i + 1]!);
  }

  /** BUILD gives an OrderedDict attributes, which are the versions of layers. */
  ignoreAttributes(): void {
    this.pop();
    if (!(this.top() instanceof Dict)) throw damaged();
  }
}

function checkProtocol(version: number): void {
  if (version < 2 || version > 4)
    throw new CheckpointError(`its pickle has protocol ${version}, but only 2 to 4 can be read`);
}

/** The operations by their opcodes, except STOP. Each takes its arguments from the bytes. */
const operationsOn = (stack: Stack, from: Bytes): Readonly<Record<number, () => unknown>> => ({
  128: () => checkProtocol(from.byte()), // PROTO
  149: () => from.take(8), // FRAME
  40: () => stack.mark(), // MARK
  78: () => stack.push(null), // NONE
  136: () => stack.push(true), // NEWTRUE
  137: () => stack.push(false), // NEWFALSE
  75: () => stack.push(from.byte()), // BININT1
  77: () => stack.push(from.take(2).readUInt16LE()), // BININT2
  74: () => stack.push(from.take(4).readInt32LE()), // BININT
  138: () => stack.push(from.long(from.byte())), // LONG1
  71: () => stack.push(from.take(8).readDoubleBE()), // BINFLOAT
  88: () => stack.push(from.text(from.uint32())), // BINUNICODE
  140: () => stack.push(from.text(from.byte())), // SHORT_BINUNICODE
  41: () => stack.pushContainer(new Tuple([])), // EMPTY_TUPLE
  133: () => stack.pushContainer(new Tuple(stack.popMany(1))), // TUPLE1
  134: () => stack.pushContainer(new Tuple(stack.popMany(2))), // TUPLE2
  135: () => stack.pushContainer(new Tuple(stack.popMany(3))), // TUPLE3
  116: () => stack.pushContainer(new Tuple(stack.popToMark())), // TUPLE
  125: () => stack.pushContainer(new Dict()), // EMPTY_DICT
  115: () => stack.set(stack.popMany(2)), // SETITEM
  117: () => stack.set(stack.popToMark()), // SETITEMS
  99: () => stack.pushGlobal(`${from.line()} ${from.line()}`), // GLOBAL
  147: () => stack.pushGlobal(stack.popMany(2).join(' ')), // STACK_GLOBAL
  81: () => stack.pushContainer(new Persistent(stack.pop())), // BINPERSID
  82: () => stack.reduce(stack.popMany(2)), // REDUCE
  98: () => stack.ignoreAttributes(), // BUILD
  113: () => stack.remember(from.byte()), // BINPUT
  114: () => stack.remember(from.uint32()), // LONG_BINPUT
  148: () => stack.remember(), // MEMOIZE
  104: () => stack.recall(from.byte()), // BINGET
  106: () => stack.recall(from.uint32()), // LONG_BINGET
});

/**
 * Reads a pickle of protocols 2 to 4 with only what a PyTorch state dict needs.
 *
 * Executes nothing: only operations of plain data and the names in `globals` are accepted, and calls are returned as
 * descriptions.
 * @see https://github.com/python/cpython/blob/3.13/Lib/pickletools.py
 * @throws {CheckpointError} naming an operation or a global that is not accepted
 */
export function readPickle(bytes: Buffer, globals: ReadonlySet<string>): Value {
  const from = new Bytes(bytes);
  const stack = new Stack(globals);
  const operations = operationsOn(stack, from);
  for (let count = 0; count < maxOperations; count++) {
    const opcode = from.byte();
    if (opcode === stop) return stack.pop();
    const operation = operations[opcode];
    if (!operation) {
      throw new CheckpointError(
        `its pickle has the operation 0x${opcode.toString(16).padStart(2, '0')}, which a state dict does not need`,
      );
    }
    operation();
  }
  throw new CheckpointError('its pickle is too long for a state dict');
}

const stop = 0x2e;

const damaged = () => new CheckpointError('its pickle is damaged');
