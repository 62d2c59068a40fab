export const dayMs = 24 * 60 * 60 * 1_000;

/** Writes a time in milliseconds since 1970 as `2026-01-31T12:00:00.000Z`. */
export const isoTime = (time: number): string => new Date(time).toISOString();
