import type { GalleryJob } from '@gen3d/schema/dashboard';
import { fileNameOf } from '@gen3d/schema/rules';

/** Saves bytes as a file of the browser’s download folder. */
export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Revoked later, because a browser may start to read the URL only after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

interface ArchivedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly modified?: string | null;
}

/** fflate does not write ZIP64. The rest of the 4 GiB is for names. */
const maxZipBytes = 4e9;

/**
 * Makes a ZIP without compression, because GLBs and textures are compressed already. Each part becomes a blob at once,
 * so the memory of the page holds one file at a time.
 */
export async function zipped(files: AsyncIterable<ArchivedFile> | Iterable<ArchivedFile>): Promise<Blob> {
  const { Zip, ZipPassThrough } = await import('fflate');
  const parts: Blob[] = [];
  const archive = new Zip((error, part) => {
    if (error) throw error;
    parts.push(new Blob([part as Uint8Array<ArrayBuffer>]));
  });
  let size = 0;
  for await (const { name, bytes, modified } of files) {
    size += bytes.length;
    if (size > maxZipBytes) throw new Error('These models are too large for one ZIP file. Select fewer');
    const entry = new ZipPassThrough(name);
    entry.mtime = modified ?? Date.now();
    archive.add(entry);
    entry.push(bytes, true);
  }
  archive.end();
  return new Blob(parts);
}

async function fetchModel(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`A model could not be downloaded: the server responded with ${response.status}`);
  return response;
}

/**
 * Saves models under their names: one as a GLB, several as a ZIP file.
 * @throws {Error} if a model cannot be fetched
 */
export async function downloadModels(jobs: readonly GalleryJob[]): Promise<void> {
  const models = jobs.flatMap((job) => (job.model_urls ? [{ job, url: job.model_urls.glb }] : []));
  const [first] = models;
  if (!first) return;
  // A link's `download` names files of the same origin only, and the models may be in a bucket.
  if (models.length === 1) return saveBlob(await (await fetchModel(first.url)).blob(), fileNameOf(first.job, '.glb'));
  const used = new Map<string, number>();
  async function* files() {
    for (const { job, url } of models) {
      const name = fileNameOf(job, '.glb');
      const count = (used.get(name) ?? 0) + 1;
      used.set(name, count);
      const uniqueName = count === 1 ? name : name.replace(/\.glb$/, `-${count}.glb`);
      const bytes = new Uint8Array(await (await fetchModel(url)).arrayBuffer());
      yield { name: uniqueName, modified: job.finished_at, bytes };
    }
  }
  saveBlob(await zipped(files()), 'models.zip');
}
