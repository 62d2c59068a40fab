import { rename as systemRename } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

/** Errors of Windows while a virus scanner, an indexer or another process has one of the files open. */
const inUse: ReadonlySet<unknown> = new Set(['EPERM', 'EACCES', 'EBUSY']);
/** In total 1.3 s. Scanners usually need some milliseconds. */
const pausesMs = [10, 20, 50, 100, 200, 400, 500] as const;

/** Renames a file or folder, replacing an existing file. On Windows, retries while another process has it open. */
export async function renameOver(
  from: string,
  to: string,
  { rename = systemRename, platform = process.platform } = {},
): Promise<void> {
  for (const pauseMs of platform === 'win32' ? pausesMs : []) {
    try {
      return await rename(from, to);
    } catch (error) {
      if (!inUse.has((error as NodeJS.ErrnoException).code)) throw error;
    }
    await pause(pauseMs);
  }
  return rename(from, to);
}
