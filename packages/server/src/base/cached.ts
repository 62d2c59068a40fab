/** The longest time that a slow result is kept: Prometheus asks every 15 s. */
const maxRestMs = 15_000;

export interface CacheOptions {
  /** How long a result or a failure is kept. */
  keptMs?: number;
  /**
   * A result is kept for at least this many times as long as it took to compute, so that little time is spent on it.
   */
  restFactor?: number;
}

/** For queries that count rows: at most a twentieth of the time, however many rows there are. */
export const counting: CacheOptions = { restFactor: 19 };

/**
 * Computes a value at most once in `keptMs`, however many callers ask for it. Calls that come while it is being computed
 * share it.
 */
export function cached<T>(
  compute: () => Promise<T>,
  { keptMs = 1_000, restFactor = 0 }: CacheOptions = {},
): () => Promise<T> {
  let current: Promise<T> | undefined;
  let freshUntil = Number.POSITIVE_INFINITY;
  return () => {
    const startedAt = performance.now();
    if (current && startedAt < freshUntil) return current;
    freshUntil = Number.POSITIVE_INFINITY;
    const keep = (factor: number) => {
      const now = performance.now();
      freshUntil = now + Math.max(keptMs, Math.min(maxRestMs, factor * (now - startedAt)));
    };
    current = compute();
    current.then(
      () => keep(restFactor),
      () => keep(0),
    );
    return current;
  };
}
