import { useEffect, useRef, useState } from 'preact/hooks';

const minPauseMs = 1_000;
const maxPauseMs = 15_000;

/**
 * Calls `load` repeatedly: every second while it resolves to true (something is in progress), and after growing pauses
 * when it resolves to false or rejects. Pauses while the page is hidden. Starts over when `key` changes, the page is
 * shown again or the browser is online again.
 *
 * @param load gets a function that tells whether the key is still the same. Otherwise, a late response would take the
 *   place of a newer one
 * @returns why the latest call failed
 */
export function usePolling(load: (isCurrent: () => boolean) => Promise<boolean>, key: unknown): string | undefined {
  const [problem, setProblem] = useState<string>();
  const latest = useRef(load);
  latest.current = load;
  // `key` is a dependency only so that polling starts over.
  useEffect(() => {
    let stopped = false;
    let pauseMs = minPauseMs;
    let isLoading = false;
    let timer: ReturnType<typeof setTimeout>;
    const loadOnce = async () => {
      try {
        const isActive = await latest.current(() => !stopped);
        setProblem(undefined);
        return isActive;
      } catch (error) {
        setProblem((error as Error).message);
        return false;
      }
    };
    const poll = async () => {
      if (document.visibilityState === 'visible') {
        isLoading = true;
        const isActive = await loadOnce();
        isLoading = false;
        pauseMs = isActive ? minPauseMs : Math.min(maxPauseMs, pauseMs * 1.5);
      }
      if (!stopped) timer = setTimeout(poll, pauseMs);
    };
    const pollNow = () => {
      if (isLoading || document.visibilityState !== 'visible') return;
      clearTimeout(timer);
      pauseMs = minPauseMs;
      void poll();
    };
    void poll();
    document.addEventListener('visibilitychange', pollNow);
    addEventListener('online', pollNow);
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', pollNow);
      removeEventListener('online', pollNow);
    };
  }, [key]);
  return problem;
}
