import { errorMessage } from '../exit/failure.js';

/** Whether an error of the operating system has one of these codes. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EPERM: 'the system does not permit it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large',
  ENAMETOOLONG: 'its name is too long',
  ENOTDIR: 'a part of its path is a file',
  ENOENT: 'its folder does not exist',
  ELOOP: 'its links lead back to it',
  EPIPE: 'its reader has closed it',
  ENXIO: 'no program reads it',
};

/** Returns the end of a sentence with "because": what the system's error means, or its own text. */
export function systemReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return reasons[code] ?? errorMessage(error);
}
