import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';
import type { ByteSource } from './byte-source.js';
import { CheckpointError } from './tensor-record.js';

/** A stored (uncompressed) entry of the archive. */
export interface ZipEntry {
  readonly name: string;
  /** Offset of its local header, in bytes. */
  readonly headerOffset: number;
  readonly size: number;
  /** Finds the offset of the entry's bytes. @throws {CheckpointError} if its local header contradicts the directory */
  readonly dataOffset: () => Promise<number>;
}

const localBytes = 30;
const maxEntries = 20_000;

/** Gives yauzl the bytes of a checkpoint. */
class CheckpointReader extends RandomAccessReader {
  readonly #file: ByteSource;

  constructor(file: ByteSource) {
    super();
    this.#file = file;
  }

  override read(target: Buffer, at: number, length: number, offset: number, done: (error: Error | null) => void): void {
    this.#file.read(offset, length).then((bytes) => {
      bytes.copy(target, at);
      done(null);
    }, done);
  }
}

/**
 * Reads the directory of a zip archive whose entries are neither compressed nor encrypted.
 *
 * @throws {CheckpointError} if the archive is damaged, split, compressed or encrypted, or its entries overlap
 */
export async function readZipDirectory(file: ByteSource): Promise<Map<string, ZipEntry>> {
  const entries = new Map<string, ZipEntry>();
  try {
    const zip = await fromRandomAccessReaderPromise(new CheckpointReader(file), file.size, { autoClose: false });
    if (zip.entryCount > maxEntries) {
      throw new CheckpointError(`the zip archive has ${zip.entryCount} entries; at most ${maxEntries} are read`);
    }
    for await (const entry of zip.eachEntry()) {
      const { fileName: name, uncompressedSize: size, relativeOffsetOfLocalHeader: headerOffset } = entry;
      if (entry.isEncrypted()) throw new CheckpointError(`the zip entry "${name}" is encrypted`);
      if (entry.compressionMethod !== 0) {
        throw new CheckpointError(`the zip entry "${name}" is compressed, which PyTorch never does`);
      }
      if (entries.has(name)) throw new CheckpointError(`the zip archive has two entries called "${name}"`);
      const dataOffset = async () => {
        const { fileName, fileDataStart } = await zip.readLocalFileHeaderPromise(entry).catch(refuse);
        if (fileName.equals(entry.fileNameRaw)) return fileDataStart;
        throw new CheckpointError(`the zip entry "${name}" is called "${fileName}" in its own header`);
      };
      entries.set(name, { name, headerOffset, size, dataOffset });
    }
  } catch (error) {
    refuse(error);
  }
  refuseOverlaps([...entries.values()], file.size);
  return entries;
}

function refuse(error: unknown): never {
  if (error instanceof CheckpointError) throw error;
  throw new CheckpointError(`its zip archive is damaged: ${(error as Error).message}`, { cause: error });
}

function refuseOverlaps(entries: readonly ZipEntry[], fileSize: number): void {
  const sorted = [...entries].sort((a, b) => a.headerOffset - b.headerOffset);
  sorted.forEach(({ name, headerOffset, size }, i) => {
    const end = headerOffset + localBytes + Buffer.byteLength(name) + size;
    if (end > (sorted[i + 1]?.headerOffset ?? fileSize)) {
      throw new CheckpointError(`the zip entry "${name}" overlaps the next one`);
    }
  });
}
