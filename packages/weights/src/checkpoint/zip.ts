import type { ByteSource } from './byte-source.js';
import { CheckpointError } from './tensor-record.js';

/** A stored (uncompressed) entry of the archive. */
export interface ZipEntry {
  readonly name: string;
  /** Offset of its local header, in bytes. */
  readonly headerOffset: number;
  readonly size: number;
}

const signature = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50 };
const endBytes = 22;
const end64Bytes = 56;
const locatorBytes = 20;
const centralBytes = 46;
const localBytes = 30;
const maxComment = 0xffff;
const maxDirectoryBytes = 2 * 1024 * 1024;
const maxEntries = 20_000;
/** These values mean "see the zip64 record". */
const in64 = { short: 0xffff, long: 0xffffffff };

/**
 * Reads the directory of a zip archive whose entries are neither compressed nor encrypted.
 *
 * @see APPNOTE.TXT 6.3.10, PKWARE
 * @throws {CheckpointError} if the archive is damaged, split, compressed or encrypted, or its entries overlap
 */
export async function readZipDirectory(file: ByteSource): Promise<Map<string, ZipEntry>> {
  const { offset, size, count } = await findDirectory(file);
  if (count > maxEntries || size > maxDirectoryBytes) {
    throw new CheckpointError(`the zip directory has ${count} entries in ${size} bytes, which is too many`);
  }
  const directory = await file.read(offset, size);
  const entries = new Map<string, ZipEntry>();
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + centralBytes > size || directory.readUInt32LE(at) !== signature.central) {
      throw new CheckpointError('the zip directory is damaged');
    }
    const nameBytes = directory.readUInt16LE(at + 28);
    const extraBytes = directory.readUInt16LE(at + 30);
    const end = at + centralBytes + nameBytes + extraBytes + directory.readUInt16LE(at + 32);
    if (end > size) throw new CheckpointError('the zip directory is damaged');
    const entry = toEntry(directory.subarray(at, end), nameBytes, extraBytes);
    if (entries.has(entry.name)) throw new CheckpointError(`the zip archive has two entries called "${entry.name}"`);
    entries.set(entry.name, entry);
    at = end;
  }
  refuseOverlaps([...entries.values()], offset);
  return entries;
}

/** Finds the offset of an entry's bytes. @throws {CheckpointError} if its local header contradicts the directory */
export async function dataOffset(file: ByteSource, { name, headerOffset, size }: ZipEntry): Promise<number> {
  const header = await file.read(headerOffset, localBytes);
  if (header.readUInt32LE(0) !== signature.local) throw new CheckpointError(`the zip entry "${name}" has no header`);
  const nameBytes = header.readUInt16LE(26);
  const found = (await file.read(headerOffset + localBytes, nameBytes)).toString('utf8');
  if (found !== name) throw new CheckpointError(`the zip entry "${name}" is called "${found}" in its own header`);
  const offset = headerOffset + localBytes + nameBytes + header.readUInt16LE(28);
  if (offset + size > file.size) throw new CheckpointError(`the zip entry "${name}" does not fit in the file`);
  return offset;
}

async function findDirectory(file: ByteSource): Promise<{ offset: number; size: number; count: number }> {
  const tailBytes = Math.min(file.size, endBytes + maxComment);
  const tailOffset = file.size - tailBytes;
  const tail = await file.read(tailOffset, tailBytes);
  const at = findEnd(tail);
  if (at === undefined) throw new CheckpointError('the zip archive has no directory: the file is cut short');
  const end = tail.subarray(at);
  if (end.readUInt16LE(4) !== 0 && end.readUInt16LE(4) !== in64.short) {
    throw new CheckpointError('the zip archive is split over several files');
  }
  const endOffset = tailOffset + at;
  const directory =
    (await readEnd64(file, endOffset)) ??
    ({
      count: end.readUInt16LE(10),
      size: end.readUInt32LE(12),
      offset: end.readUInt32LE(16),
      limit: endOffset,
    } as const);
  if (directory.offset + directory.size > directory.limit) {
    throw new CheckpointError('the zip directory is not where the archive says');
  }
  return directory;
}

/** Finds the offset of the last end record whose comment ends with the file. */
function findEnd(tail: Buffer): number | undefined {
  for (let at = tail.length - endBytes; at >= 0; at--) {
    if (tail.readUInt32LE(at) === signature.end && at + endBytes + tail.readUInt16LE(at + 20) === tail.length)
      return at;
  }
  return undefined;
}

async function readEnd64(file: ByteSource, endOffset: number) {
  const locatorOffset = endOffset - locatorBytes;
  if (locatorOffset < 0) return undefined;
  const locator = await file.read(locatorOffset, locatorBytes);
  if (locator.readUInt32LE(0) !== signature.locator64) return undefined;
  const limit = Number(locator.readBigUInt64LE(8));
  if (limit + end64Bytes > locatorOffset) throw new CheckpointError('the zip64 record is not where the archive says');
  const record = await file.read(limit, end64Bytes);
  if (record.readUInt32LE(0) !== signature.end64) throw new CheckpointError('the zip64 record is damaged');
  return {
    count: Number(record.readBigUInt64LE(32)),
    size: Number(record.readBigUInt64LE(40)),
    offset: Number(record.readBigUInt64LE(48)),
    limit,
  };
}

function toEntry(record: Buffer, nameBytes: number, extraBytes: number): ZipEntry {
  const name = record.toString('utf8', centralBytes, centralBytes + nameBytes);
  if (record.readUInt16LE(8) & 1) throw new CheckpointError(`the zip entry "${name}" is encrypted`);
  if (record.readUInt16LE(10) !== 0) {
    throw new CheckpointError(`the zip entry "${name}" is compressed, which PyTorch never does`);
  }
  const extra = record.subarray(centralBytes + nameBytes, centralBytes + nameBytes + extraBytes);
  const [size, storedSize, headerOffset] = withZip64(
    [record.readUInt32LE(24), record.readUInt32LE(20), record.readUInt32LE(42)],
    extra,
    name,
  );
  if (size !== storedSize)
    throw new CheckpointError(`the zip entry "${name}" has two sizes: ${size} and ${storedSize}`);
  return { name, headerOffset: headerOffset!, size: size! };
}

/** Replaces values that do not fit in 32 bits by those of the zip64 extra field, in the same order. */
function withZip64(values: readonly number[], extra: Buffer, name: string): number[] {
  if (!values.includes(in64.long)) return [...values];
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue;
    let next = at + 4;
    const end = Math.min(next + extra.readUInt16LE(at + 2), extra.length);
    return values.map((value) => {
      if (value !== in64.long) return value;
      if (next + 8 > end) throw new CheckpointError(`the zip64 field of "${name}" is too short`);
      next += 8;
      return Number(extra.readBigUInt64LE(next - 8));
    });
  }
  throw new CheckpointError(`the zip entry "${name}" has no zip64 field, which its sizes need`);
}

/** @param limit offset of the directory, before which every entry ends */
function refuseOverlaps(entries: readonly ZipEntry[], limit: number): void {
  const sorted = [...entries].sort((a, b) => a.headerOffset - b.headerOffset);
  sorted.forEach(({ name, headerOffset, size }, i) => {
    const end = headerOffset + localBytes + Buffer.byteLength(name) + size;
    if (end > (sorted[i + 1]?.headerOffset ?? limit)) {
      throw new CheckpointError(`the zip entry "${name}" overlaps the next one`);
    }
  });
}
