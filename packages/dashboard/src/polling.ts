import { useEffect, useRef } from 'preact/hooks';

const firstMs = 1_000;
const longestMs = 15_000;

/**
 * Calls `ask` again and again: after a second while it says that something moves, after ever longer pauses while nothing
 * does or the server cannot be reached. Rests while nobody looks at the page. A change of `restart` begins anew.
 */
export function usePolling(ask: () => Promise<boolean>, restart: unknown): void {
  const latest = useRef(ask);
  latest.current = ask;
  // `restart` is not used inside: it is there to begin anew.
  useEffect(() => {
    let stopped = false;
    let pauseMs = firstMs;
    let timer: ReturnType<typeof setTimeout>;
    const round = async () => {
      if (document.visibilityState === 'visible') {
        const moves = await latest.current().catch(() => false);
        pauseMs = moves ? firstMs : Math.min(longestMs, pauseMs * 1.5);
      }
      if (!stopped) timer = setTimeout(round, pauseMs);
    };
    void round();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [restart]);
}
