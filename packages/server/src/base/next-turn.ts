import { setImmediate } from 'node:timers/promises';

/**
 * Resolves in the next turn of the event loop. A loop over rows or a socket awaits this after each batch: queries of
 * SQLite and writes to a socket with room settle without a turn, and until the loop ends, nothing else would run.
 * `npm run lint` finds loops that do not.
 */
export const nextTurn = (): Promise<void> => setImmediate();
