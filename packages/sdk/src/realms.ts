// Recognizes bytes and errors of other realms, for which `instanceof` is false: those of a `vm` context, of Electron's
// bridge, and of Node in test environments such as jsdom.

/** Returns the name of a value's type, such as `ArrayBuffer`. */
export const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

/** Returns the bytes of a typed array, a Buffer, a DataView or an ArrayBuffer, without copying them. */
export function bytesIn(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  }
  return /^(Shared)?ArrayBuffer$/.test(tagOf(value)) ? new Uint8Array(value as ArrayBuffer) : undefined;
}

/** Returns the `code` of an error of the system or of a module loader. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

export const messageOf = (error: unknown): string =>
  String((error as { message?: unknown } | null | undefined)?.message ?? error);
