/**
 * A photo is not where it should lie, or cannot be read there. Most often the operator can mend that (a disk that is not
 * mounted, another machine's folder), so the job waits for a while before it counts as the job's end.
 */
export class UnreadablePhotoError extends Error {
  override readonly name = 'UnreadablePhotoError';
}
