import { requireFrom } from '../repository.mjs';

/** @type {typeof import('better-sqlite3')} */
export const Sqlite = requireFrom('server')('better-sqlite3');

const base32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * A ULID with a known random part, so that seeded rows are unique and their order is known.
 *
 * @param {number} time in ms
 * @param {number} index
 */
export const seededUlid = (time, index) => inBase32(time, 10) + inBase32(index, 16);

/**
 * @param {number} value
 * @param {number} length
 */
const inBase32 = (value, length) =>
  Array.from({ length }, (_, at) => base32[Math.floor(value / 32 ** (length - 1 - at)) % 32]).join('');
