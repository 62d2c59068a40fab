/** Upper bound on how long a slow result is kept. Prometheus scrapes every 15 s. */
const maxKeptMs = 15_000;

export interface CacheOptions {
  /** How long a result or a failure is kept. */
  keptMs?: number;
  /** Keeps a result for at least this multiple of the time it took to compute. */
  keptFactor?: number;
}

/** Options for queries that count rows: they take at most 5 % of the time, however many rows there are. */
export const counting: CacheOptions = { keptFactor: 19 };

/** Computes a value at most once per `keptMs`. Concurrent calls share one computation. */
export function cached<T>(
  compute: () => Promise<T>,
  { keptMs = 1_000, keptFactor = 0 }: CacheOptions = {},
): () => Promise<T> {
  let current: Promise<T> | undefined;
  let freshUntil = Number.POSITIVE_INFINITY;
  return () => {
    const startedAt = performance.now();
    if (current && startedAt < freshUntil) return current;
    freshUntil = Number.POSITIVE_INFINITY;
    const keep = (factor: number) => {
      const now = performance.now();
      freshUntil = now + Math.max(keptMs, Math.min(maxKeptMs, factor * (now - startedAt)));
    };
    current = compute();
    current.then(
      () => keep(keptFactor),
      () => keep(0),
    );
    return current;
  };
}
