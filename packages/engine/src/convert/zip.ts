import type { ModelFile } from './model-parts.js';

// Signatures and layout: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.12 (central directory) and 4.3.16.
const localSignature = 0x04034b50;
const centralSignature = 0x02014b50;
const endSignature = 0x06054b50;
const localBytes = 30;
const centralBytes = 46;
const endBytes = 22;
const version = 20;
/** Names are UTF-8. */
const utf8Flag = 0x0800;
/** 1980-01-01, the first date that the format can express: the same model gives the same archive. */
const date = (1 << 5) | 1;
/** An extra field that other programs ignore. Its header has four bytes. */
const paddingId = 0x1986;

/**
 * An archive without compression: textures are compressed already. `alignment` makes the data of each file begin at a
 * multiple of it, as USDZ requires for 64.
 */
export function zip(files: readonly ModelFile[], alignment = 1): Uint8Array {
  const entries: { name: Uint8Array; bytes: Uint8Array; extra: number; at: number; crc: number }[] = [];
  let size = 0;
  for (const { name, bytes } of files) {
    const encoded = new TextEncoder().encode(name);
    const missing = (alignment - ((size + localBytes + encoded.length) % alignment)) % alignment;
    const extra = missing > 0 && missing < 4 ? missing + alignment : missing;
    entries.push({ name: encoded, bytes, extra, at: size, crc: crc32(bytes) });
    size += localBytes + encoded.length + extra + bytes.length;
  }
  const directoryAt = size;
  const directorySize = entries.reduce((sum, { name }) => sum + centralBytes + name.length, 0);
  const archive = new Uint8Array(directoryAt + directorySize + endBytes);
  const view = new DataView(archive.buffer);
  let at = 0;
  const write16 = (...values: number[]) => {
    for (const value of values) {
      view.setUint16(at, value, true);
      at += 2;
    }
  };
  const write32 = (...values: number[]) => {
    for (const value of values) {
      view.setUint32(at, value, true);
      at += 4;
    }
  };
  const writeBytes = (bytes: Uint8Array) => {
    archive.set(bytes, at);
    at += bytes.length;
  };
  for (const { name, bytes, extra, crc } of entries) {
    write32(localSignature);
    // Method 0 is "stored"; the time is 0.
    write16(version, utf8Flag, 0, 0, date);
    write32(crc, bytes.length, bytes.length);
    write16(name.length, extra);
    writeBytes(name);
    if (extra > 0) write16(paddingId, extra - 4);
    if (extra > 0) at += extra - 4;
    writeBytes(bytes);
  }
  for (const { name, bytes, at: localAt, crc } of entries) {
    write32(centralSignature);
    write16(version, version, utf8Flag, 0, 0, date);
    write32(crc, bytes.length, bytes.length);
    // No extra field, no comment, disk 0, no attributes.
    write16(name.length, 0, 0, 0, 0);
    write32(0, localAt);
    writeBytes(name);
  }
  write32(endSignature);
  write16(0, 0, entries.length, entries.length);
  write32(directorySize, directoryAt);
  return archive;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
