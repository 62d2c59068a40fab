import { basename, extname } from 'node:path';
import type { FSWatcher } from 'chokidar';

/** What `create` takes from a file, by its name: what is inside is looked at when it is sent. */
export const photoExtensions = ['.jpg', '.jpeg', '.png', '.webp'];

// A camera's or a browser's copy pauses for less; one that pauses longer is looked at again when it grows.
const settledMs = 1000;

/**
 * Calls `onPhoto` for each photo that is in the folder, comes into it or changes there, once its size has stayed the
 * same for a second. Folders inside and names that begin with a dot are left alone.
 */
export async function watchFolder(folder: string, onPhoto: (path: string) => void): Promise<FSWatcher> {
  const { watch } = await import('chokidar');
  const watcher = watch(folder, {
    depth: 0,
    awaitWriteFinish: { stabilityThreshold: settledMs, pollInterval: 100 },
    ignored: (path, stats) => stats?.isFile() === true && !isPhoto(path),
  });
  watcher.on('add', onPhoto).on('change', onPhoto);
  await new Promise<void>((resolve, reject) => {
    watcher.once('ready', resolve).once('error', reject);
  });
  return watcher;
}

function isPhoto(path: string): boolean {
  const name = basename(path);
  return !name.startsWith('.') && photoExtensions.includes(extname(name).toLowerCase());
}
