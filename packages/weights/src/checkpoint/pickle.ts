import { CheckpointError } from './tensor-record.js';

/** A value in a pickle. Nothing is called or imported: globals stay names. */
export type Value = null | boolean | number | string | Tuple | List | Dict | Global | Persistent | Call;

export class Tuple {
  constructor(readonly items: readonly Value[]) {}
}
export class List {
  readonly items: Value[] = [];
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
/** Maximum tuples, lists, dictionaries and calls. A tensor takes six. */
const maxContainers = 200_000;

/**
 * Reads a pickle of protocols 2 to 4 with only what a PyTorch state dict needs.
 *
 * Executes nothing: only operations of plain data and the names in `globals` are accepted, and calls are returned as
 * descriptions.
 * @see https://github.com/python/cpython/blob/3.13/Lib/pickletools.py
 * @throws {CheckpointError} naming an operation or a global that is not accepted
 */
export function readPickle(bytes: Buffer, globals: ReadonlySet<string>): Value {
  let at = 0;
  let containers = 0;
  const stack: Value[] = [];
  /** Heights of the stack at open marks. */
  const marks: number[] = [];
  const memo = new Map<number, Value>();

  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw damaged();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const byte = () => take(1).readUInt8();
  const uint32 = () => take(4).readUInt32LE();
  const text = (length: number) => take(length).toString('utf8');
  const line = () => {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) throw damaged();
    const found = text(end - at);
    at = end + 1;
    return found;
  };
  const long = (length: number) => {
    const digits = take(length);
    if (length === 0) return 0;
    const value =
      length <= 6 ? digits.readIntLE(0, length) : Number(length === 8 ? digits.readBigInt64LE() : Number.NaN);
    if (!Number.isSafeInteger(value)) throw new CheckpointError('its pickle has a number that is too large');
    return value;
  };

  const push = (value: Value) => stack.push(value);
  const pushContainer = (container: Value) => {
    containers++;
    if (containers > maxContainers) throw new CheckpointError('its pickle is too large for a state dict');
    stack.push(container);
  };
  /** Values below a mark cannot be popped. */
  const popMany = (count: number): Value[] => {
    if (stack.length - count < (marks.at(-1) ?? 0)) throw damaged();
    return stack.splice(stack.length - count);
  };
  const pop = () => popMany(1)[0]!;
  const popToMark = () => {
    const height = marks.pop();
    if (height === undefined) throw damaged();
    return stack.splice(height);
  };
  const top = () => {
    const value = pop();
    stack.push(value);
    return value;
  };

  const pushGlobal = (name: string) => {
    if (!globals.has(name)) {
      throw new CheckpointError(
        `its pickle names ${JSON.stringify(name.replace(' ', '.').slice(0, 100))}, which a state dict does not need. Save only model.state_dict(), or as safetensors`,
      );
    }
    pushContainer(new Global(name));
  };
  const reduce = ([callee, args]: Value[]) => {
    if (!(callee instanceof Global) || !(args instanceof Tuple)) throw damaged();
    if (callee.name !== orderedDict) return pushContainer(new Call(callee.name, args.items));
    if (args.items.length > 0) throw damaged();
    pushContainer(new Dict());
  };
  const recall = (index: number) => {
    const value = memo.get(index);
    if (value === undefined) throw damaged();
    push(value);
  };
  const append = (items: readonly Value[]) => {
    const list = top();
    if (!(list instanceof List)) throw damaged();
    for (const item of items) list.items.push(item);
  };
  const set = (items: readonly Value[]) => {
    const dict = top();
    if (!(dict instanceof Dict) || items.length % 2 !== 0) throw damaged();
    for (let i = 0; i < items.length; i += 2) dict.entries.set(items[i]!, items[i + 1]!);
  };
  const checkProtocol = (version: number) => {
    if (version < 2 || version > 4)
      throw new CheckpointError(`its pickle has protocol ${version}, but only 2 to 4 can be read`);
  };
  /** BUILD gives an OrderedDict attributes, which are the versions of layers. */
  const ignoreAttributes = () => {
    pop();
    if (!(top() instanceof Dict)) throw damaged();
  };

  /** The operations by their opcodes, except STOP, which ends the loop. */
  const operations: Readonly<Record<number, () => unknown>> = {
    128: () => checkProtocol(byte()), // PROTO
    149: () => take(8), // FRAME
    40: () => marks.push(stack.length), // MARK
    78: () => push(null), // NONE
    136: () => push(true), // NEWTRUE
    137: () => push(false), // NEWFALSE
    75: () => push(byte()), // BININT1
    77: () => push(take(2).readUInt16LE()), // BININT2
    74: () => push(take(4).readInt32LE()), // BININT
    138: () => push(long(byte())), // LONG1
    71: () => push(take(8).readDoubleBE()), // BINFLOAT
    88: () => push(text(uint32())), // BINUNICODE
    140: () => push(text(byte())), // SHORT_BINUNICODE
    41: () => pushContainer(new Tuple([])), // EMPTY_TUPLE
    133: () => pushContainer(new Tuple(popMany(1))), // TUPLE1
    134: () => pushContainer(new Tuple(popMany(2))), // TUPLE2
    135: () => pushContainer(new Tuple(popMany(3))), // TUPLE3
    116: () => pushContainer(new Tuple(popToMark())), // TUPLE
    93: () => pushContainer(new List()), // EMPTY_LIST
    125: () => pushContainer(new Dict()), // EMPTY_DICT
    97: () => append([pop()]), // APPEND
    101: () => append(popToMark()), // APPENDS
    115: () => set(popMany(2)), // SETITEM
    117: () => set(popToMark()), // SETITEMS
    99: () => pushGlobal(`${line()} ${line()}`), // GLOBAL
    147: () => pushGlobal(popMany(2).join(' ')), // STACK_GLOBAL
    81: () => pushContainer(new Persistent(pop())), // BINPERSID
    82: () => reduce(popMany(2)), // REDUCE
    98: ignoreAttributes, // BUILD
    113: () => memo.set(byte(), top()), // BINPUT
    114: () => memo.set(uint32(), top()), // LONG_BINPUT
    148: () => memo.set(memo.size, top()), // MEMOIZE
    104: () => recall(byte()), // BINGET
    106: () => recall(uint32()), // LONG_BINGET
  };
  for (let count = 0; count < maxOperations; count++) {
    const opcode = byte();
    if (opcode === stop) return pop();
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
