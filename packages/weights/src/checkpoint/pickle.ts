import { CheckpointError } from './checkpoint-error.js';

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
/** The identifier of a value that is stored outside the pickle. */
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
  return new Machine(bytes, globals).run();
}

class Machine {
  #at = 0;
  #containers = 0;
  readonly #stack: Value[] = [];
  /** Heights of the stack at open marks. */
  readonly #marks: number[] = [];
  readonly #memo = new Map<number, Value>();

  readonly #bytes: Buffer;
  readonly #globals: ReadonlySet<string>;

  constructor(bytes: Buffer, globals: ReadonlySet<string>) {
    this.#bytes = bytes;
    this.#globals = globals;
  }

  run(): Value {
    for (let operations = 0; operations < maxOperations; operations++) {
      const operation = this.#take(1).readUInt8();
      if (operation === 0x2e) return this.#pop(); // STOP
      this.#execute(operation);
    }
    throw new CheckpointError('its pickle is too long for a state dict');
  }

  #execute(operation: number): void {
    const value = this.#valueOf(operation);
    if (value === undefined) this.#act(operation);
    else this.#stack.push(value);
  }

  /** The value that an operation pushes; undefined if it does something else. */
  #valueOf(operation: number): Value | undefined {
    switch (operation) {
      case 0x4e: // NONE
        return null;
      case 0x88: // NEWTRUE
        return true;
      case 0x89: // NEWFALSE
        return false;
      case 0x4b: // BININT1
        return this.#byte();
      case 0x4d: // BININT2
        return this.#take(2).readUInt16LE();
      case 0x4a: // BININT
        return this.#take(4).readInt32LE();
      case 0x8a: // LONG1
        return this.#long(this.#byte());
      case 0x47: // BINFLOAT
        return this.#take(8).readDoubleBE();
      case 0x58: // BINUNICODE
        return this.#text(this.#uint32());
      case 0x8c: // SHORT_BINUNICODE
        return this.#text(this.#byte());
      case 0x29: // EMPTY_TUPLE
        return this.#count(new Tuple([]));
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        return this.#count(new Tuple(this.#popMany(operation - 0x84)));
      case 0x74: // TUPLE
        return this.#count(new Tuple(this.#popToMark()));
      case 0x5d: // EMPTY_LIST
        return this.#count(new List());
      case 0x7d: // EMPTY_DICT
        return this.#count(new Dict());
      case 0x63: // GLOBAL
        return this.#global(`${this.#line()} ${this.#line()}`);
      case 0x93: // STACK_GLOBAL
        return this.#global(this.#popMany(2).join(' '));
      case 0x51: // BINPERSID
        return this.#count(new Persistent(this.#pop()));
      case 0x52: // REDUCE
        return this.#call(...this.#popMany(2));
      case 0x68: // BINGET
        return this.#recall(this.#byte());
      case 0x6a: // LONG_BINGET
        return this.#recall(this.#uint32());
      default:
        return undefined;
    }
  }

  #act(operation: number): void {
    switch (operation) {
      case 0x80: // PROTO
        this.#checkProtocol(this.#byte());
        break;
      case 0x95: // FRAME
        this.#take(8);
        break;
      case 0x28: // MARK
        this.#marks.push(this.#stack.length);
        break;
      case 0x61: // APPEND
        this.#append([this.#pop()]);
        break;
      case 0x65: // APPENDS
        this.#append(this.#popToMark());
        break;
      case 0x73: // SETITEM
        this.#set(this.#popMany(2));
        break;
      case 0x75: // SETITEMS
        this.#set(this.#popToMark());
        break;
      case 0x62: // BUILD: the attributes of an OrderedDict, which are versions of layers
        this.#pop();
        if (!(this.#top() instanceof Dict)) throw damaged();
        break;
      case 0x71: // BINPUT
        this.#memo.set(this.#byte(), this.#top());
        break;
      case 0x72: // LONG_BINPUT
        this.#memo.set(this.#uint32(), this.#top());
        break;
      case 0x94: // MEMOIZE
        this.#memo.set(this.#memo.size, this.#top());
        break;
      default:
        throw new CheckpointError(
          `its pickle has the operation 0x${operation.toString(16).padStart(2, '0')}, which a state dict does not need`,
        );
    }
  }

  #checkProtocol(version: number): void {
    if (version < 2 || version > 4) throw new CheckpointError(`its pickle has protocol ${version}; 2 to 4 are read`);
  }

  #global(name: string): Global {
    if (!this.#globals.has(name)) {
      throw new CheckpointError(
        `its pickle names ${JSON.stringify(name.replace(' ', '.').slice(0, 100))}, which a state dict does not need. Save only model.state_dict(), or as safetensors`,
      );
    }
    return this.#count(new Global(name));
  }

  #call(callee?: Value, args?: Value): Value {
    if (!(callee instanceof Global) || !(args instanceof Tuple)) throw damaged();
    if (callee.name !== orderedDict) return this.#count(new Call(callee.name, args.items));
    if (args.items.length > 0) throw damaged();
    return this.#count(new Dict());
  }

  #count<T>(container: T): T {
    this.#containers++;
    if (this.#containers > maxContainers) throw new CheckpointError('its pickle is too large for a state dict');
    return container;
  }

  #append(items: readonly Value[]): void {
    const list = this.#top();
    if (!(list instanceof List)) throw damaged();
    for (const item of items) list.items.push(item);
  }

  #set(items: readonly Value[]): void {
    const dict = this.#top();
    if (!(dict instanceof Dict) || items.length % 2 !== 0) throw damaged();
    for (let i = 0; i < items.length; i += 2) dict.entries.set(items[i]!, items[i + 1]!);
  }

  #recall(index: number): Value {
    const value = this.#memo.get(index);
    if (value === undefined) throw damaged();
    return value;
  }

  #pop(): Value {
    return this.#popMany(1)[0]!;
  }

  #top(): Value {
    const value = this.#stack.at(-1);
    if (value === undefined || this.#stack.length <= (this.#marks.at(-1) ?? 0)) throw damaged();
    return value;
  }

  /** Values below a mark cannot be popped. */
  #popMany(count: number): Value[] {
    if (this.#stack.length - count < (this.#marks.at(-1) ?? 0)) throw damaged();
    return this.#stack.splice(this.#stack.length - count);
  }

  #popToMark(): Value[] {
    const height = this.#marks.pop();
    if (height === undefined) throw damaged();
    return this.#stack.splice(height);
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw damaged();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #byte(): number {
    return this.#take(1).readUInt8();
  }

  #uint32(): number {
    return this.#take(4).readUInt32LE();
  }

  #text(length: number): string {
    return this.#take(length).toString('utf8');
  }

  #line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) throw damaged();
    const line = this.#text(end - this.#at);
    this.#at = end + 1;
    return line;
  }

  #long(length: number): number {
    const bytes = this.#take(length);
    if (length === 0) return 0;
    const value = length <= 6 ? bytes.readIntLE(0, length) : Number(length === 8 ? bytes.readBigInt64LE() : Number.NaN);
    if (!Number.isSafeInteger(value)) throw new CheckpointError('its pickle has a number that is too large');
    return value;
  }
}

const damaged = () => new CheckpointError('its pickle is damaged');
