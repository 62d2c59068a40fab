import { randomBytes, randomInt } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** Makes a ULID. ULIDs that one process makes in the same millisecond sort in creation order. */
export const newUlid: () => string = monotonicFactory(fraction);

/** Returns a number in [0, 1). ulid's default reads single random bytes, 35 µs per id; `randomInt` buffers them. */
function fraction(): number {
  return randomInt(2 ** 32) / 2 ** 32;
}

/** Returns `length` random characters of base64url, 6 bits each. */
export const randomToken = (length: number): string =>
  randomBytes(Math.ceil(length * 0.75))
    .toString('base64url')
    .slice(0, length);
