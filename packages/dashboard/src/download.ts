import type { GalleryJob } from '@gen3d/schema/dashboard';
import { downloadName } from './names.js';

/** Saves bytes as a file of the browser’s download folder. */
export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Later, because a browser may start to read the URL only after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
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
  if (models.length === 1) return saveBlob(await (await fetchModel(first.url)).blob(), downloadName(first.job, 'glb'));
  const { downloadZip } = await import('client-zip');
  const used = new Map<string, number>();
  async function* files() {
    for (const { job, url } of models) {
      const name = downloadName(job, 'glb');
      const count = (used.get(name) ?? 0) + 1;
      used.set(name, count);
      const uniqueName = count === 1 ? name : name.replace(/\.glb$/, `-${count}.glb`);
      yield { name: uniqueName, lastModified: job.finished_at, input: await fetchModel(url) };
    }
  }
  saveBlob(await downloadZip(files()).blob(), 'models.zip');
}
