import { basename, extname } from 'node:path';
import type { FSWatcher } from 'chokidar';

/** The file types that `create` accepts. */
export const photoExtensions = ['.jpg', '.jpeg', '.png', '.webp', '.heic', '.heif', '.avif', '.gif', '.tif', '.tiff'];

// Copies from cameras and browsers pause for less. After a longer pause, the file is processed again when it grows.
const settledMs = 1000;

/**
 * Calls `onPhoto` for each photo in the folder, and for photos added or changed later, when their size has been stable for
 * a second. Ignores subfolders and hidden files.
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
