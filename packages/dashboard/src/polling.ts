import { useEffect, useRef, useState } from 'preact/hooks';

const minPauseMs = 1_000;
const maxPauseMs = 15_000;
/** Between two requests while a stream says what changes. Positions in the queue and stages have no events. */
const followedPauseMs = 2_000;
/** A stream that has sent nothing for this long is not relied on. The server sends a heartbeat every 10 s. */
const silenceMs = 25_000;

/** Follows what `load` loads: calls `onContact` whenever the server sends something, until the stream ends. */
export type Follow = (onContact: (hasEvent: boolean) => void, signal: AbortSignal) => Promise<void>;

/**
 * Follows the stream while the page is visible, because a browser opens only six connections to a server.
 *
 * @returns `update`, which starts or ends the stream if the page's visibility demands it, and `stop`, which ends it
 */
function followWhileVisible(follow: Follow | undefined, onContact: (hasEvent: boolean) => void, onEnd: () => void) {
  let stopped = false;
  let stream: AbortController | undefined;
  const update = async (): Promise<void> => {
    if (document.visibilityState === 'hidden') stream?.abort();
    if (!follow || stopped || stream || document.visibilityState !== 'visible') return;
    const current = new AbortController();
    stream = current;
    // Without a stream, for example behind a proxy that holds it back, polling continues as it is.
    const hasEnded = await follow(onContact, current.signal).then(
      () => true,
      () => false,
    );
    onEnd();
    if (stream === current) stream = undefined;
    if (hasEnded) setTimeout(() => void update(), minPauseMs);
  };
  const stop = () => {
    stopped = true;
    stream?.abort();
  };
  return { update: () => void update(), stop };
}

/**
 * Calls `load` repeatedly: every second while it resolves to true (something is in progress), and after growing pauses
 * when it resolves to false or rejects. With `follow`, calls it at every event, and less often without one. Pauses
 * while the page is hidden. Starts over when `key` changes, the page is shown again or the browser is online again.
 *
 * @returns why the latest call failed
 */
export function usePolling(load: () => Promise<boolean>, key: unknown, follow?: Follow): string | undefined {
  const [problem, setProblem] = useState<string>();
  const latest = useRef(load);
  latest.current = load;
  // `key` is a dependency only so that polling starts over.
  useEffect(() => {
    let stopped = false;
    let pauseMs = minPauseMs;
    let isLoading = false;
    let hasChanged = false;
    let loadedAt = Number.NEGATIVE_INFINITY;
    let contactAt = Number.NEGATIVE_INFINITY;
    let timer: ReturnType<typeof setTimeout>;
    const loadOnce = async () => {
      try {
        const isActive = await latest.current();
        setProblem(undefined);
        return isActive;
      } catch (error) {
        setProblem((error as Error).message);
        return false;
      }
    };
    const activePauseMs = () => (performance.now() - contactAt < silenceMs ? followedPauseMs : minPauseMs);
    const poll = async () => {
      if (document.visibilityState === 'visible') {
        isLoading = true;
        hasChanged = false;
        loadedAt = performance.now();
        const isActive = await loadOnce();
        isLoading = false;
        pauseMs = isActive ? activePauseMs() : Math.min(maxPauseMs, pauseMs * 1.5);
        // An event that arrived meanwhile may be about a later state.
        if (hasChanged) pauseMs = minPauseMs;
      }
      if (!stopped) timer = setTimeout(poll, pauseMs);
    };
    const pollIn = (ms: number) => {
      hasChanged = true;
      if (isLoading || document.visibilityState !== 'visible') return;
      clearTimeout(timer);
      pauseMs = minPauseMs;
      timer = setTimeout(poll, ms);
    };
    const pollNow = () => pollIn(0);
    // Once a second at most, however many events there are.
    const pollAfterEvent = () => pollIn(Math.max(0, loadedAt + minPauseMs - performance.now()));
    const onContact = (hasEvent: boolean) => {
      contactAt = performance.now();
      if (hasEvent) pollAfterEvent();
    };
    const stream = followWhileVisible(follow, onContact, () => {
      contactAt = Number.NEGATIVE_INFINITY;
    });
    const onVisibility = () => {
      stream.update();
      pollNow();
    };
    void poll();
    stream.update();
    document.addEventListener('visibilitychange', onVisibility);
    addEventListener('online', pollNow);
    return () => {
      stopped = true;
      clearTimeout(timer);
      stream.stop();
      document.removeEventListener('visibilitychange', onVisibility);
      removeEventListener('online', pollNow);
    };
  }, [key]);
  return problem;
}
