/**
 * A photo is not where it should lie, or cannot be read there. Most often the operator can mend that (a disk that is not
 * mounted, another machine's folder), so the job waits for a while before it counts as the job's end.
 */
export class UnreadablePhotoError extends Error {
  override readonly name = 'UnreadablePhotoError';

  /** Whether there is nothing under its name, rather than something that cannot be read. */
  get isMissing(): boolean {
    const { code } = (this.cause ?? { code: 'ENOENT' }) as NodeJS.ErrnoException;
    return code === 'ENOENT';
  }
}
