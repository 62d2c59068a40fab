/** Computes a value, or fails, at most once per `keptMs`. Concurrent calls share one computation. */
export function cached<T>(compute: () => Promise<T>, keptMs = 1_000): () => Promise<T> {
  let current: Promise<T> | undefined;
  let freshUntil = 0;
  return () => {
    if (current && performance.now() < freshUntil) return current;
    freshUntil = Number.POSITIVE_INFINITY;
    current = compute();
    const keep = () => {
      freshUntil = performance.now() + keptMs;
    };
    current.then(keep, keep);
    return current;
  };
}
