import { useEffect, useRef } from 'preact/hooks';

const minPauseMs = 1_000;
const maxPauseMs = 15_000;

/**
 * Calls `load` repeatedly: every second while it resolves to true (something is in progress), and after growing pauses
 * when it resolves to false or rejects. Pauses while the page is hidden. Starts over when `key` changes.
 */
export function usePolling(load: () => Promise<boolean>, key: unknown): void {
  const latest = useRef(load);
  latest.current = load;
  // `key` is a dependency only so that polling starts over.
  useEffect(() => {
    let stopped = false;
    let pauseMs = minPauseMs;
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      if (document.visibilityState === 'visible') {
        const isActive = await latest.current().catch(() => false);
        pauseMs = isActive ? minPauseMs : Math.min(maxPauseMs, pauseMs * 1.5);
      }
      if (!stopped) timer = setTimeout(poll, pauseMs);
    };
    void poll();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [key]);
}
