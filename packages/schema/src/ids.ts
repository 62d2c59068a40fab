import { z } from 'zod';

/** A ULID: 26 characters of Crockford's base 32 that sort by creation time. The first character never passes 7. */
export const Ulid = z.string().regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'must be a ULID (26 characters)');

/** ISO 8601 in UTC, as `Date.prototype.toISOString` writes it. */
export const Timestamp = z.iso.datetime();
