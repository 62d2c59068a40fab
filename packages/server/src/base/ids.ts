import { randomBytes, randomInt } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** A new ULID. Those made by one process in the same millisecond still sort in the order they were made. */
export const newUlid: () => string = monotonicFactory(fraction);

/** At random in [0, 1). ulid itself would ask the system for one byte at a time, 35 µs an id; `randomInt` keeps a supply. */
function fraction(): number {
  return randomInt(2 ** 32) / 2 ** 32;
}

/** `length` random characters of base64url, 6 bits each. */
export const randomToken = (length: number): string =>
  randomBytes(Math.ceil(length * 0.75))
    .toString('base64url')
    .slice(0, length);
