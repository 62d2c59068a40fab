// https://protobuf.dev/programming-guides/encoding

export interface Field {
  readonly number: number;
  readonly wireType: number;
  /** The whole field, including its number and length. */
  readonly bytes: Buffer;
  /** The content of a field with a length. */
  readonly content: Buffer;
  /** The value of a varint; 0 in other fields. */
  readonly value: number;
}

/** Iterates over the fields of a message, in order. @throws {RangeError} if the message is damaged */
export function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0;
  const next = (): number => {
    const { value, end } = readVarint(message, at);
    at = end;
    return value;
  };
  while (at < message.length) {
    const start = at;
    const tag = next();
    const wireType = tag % 8;
    let value = 0;
    let contentStart = at;
    if (wireType === 0) {
      value = next();
    } else if (wireType === 1) {
      at += 8;
    } else if (wireType === 5) {
      at += 4;
    } else if (wireType === 2) {
      const length = next();
      contentStart = at;
      at += length;
    } else {
      throw new RangeError(`unknown wire type ${wireType}`);
    }
    if (at > message.length) throw new RangeError('a field ends beyond its message');
    yield {
      number: Math.floor(tag / 8),
      wireType,
      bytes: message.subarray(start, at),
      content: message.subarray(contentStart, at),
      value,
    };
  }
}

/** Decodes the numbers of a packed repeated field. */
export function packedVarints(content: Buffer): number[] {
  const values: number[] = [];
  for (let at = 0; at < content.length; ) {
    const { value, end } = readVarint(content, at);
    values.push(value);
    at = end;
  }
  return values;
}

function readVarint(bytes: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  for (let at = start, scale = 1; ; at++, scale *= 128) {
    const byte = bytes.readUInt8(at);
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: at + 1 };
  }
}

export const bytesField = (number: number, content: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(content.length)]), content]);

export const textField = (number: number, text: string): Buffer => bytesField(number, Buffer.from(text));

function varint(value: number): number[] {
  const digits: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...digits, rest];
    digits.push((rest % 128) + 128);
  }
}
