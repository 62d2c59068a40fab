import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** Shows an error message, which screen readers announce, and scrolls to it: the button may be far below. */
export function Problem({ text }: { text: string | undefined }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (text !== undefined) element.current?.scrollIntoView({ block: 'nearest' });
  }, [text]);
  return (
    <div ref={element} role="alert" class={text === undefined ? 'problem none' : 'problem'}>
      {text}
    </div>
  );
}

/** Shows a confirmation, which screen readers announce. */
export function Success({ text }: { text: string }) {
  return (
    <p role="status" class="success">
      {text}
    </p>
  );
}

/** Runs actions of the user that may fail, and holds the outcome of the last one for the page to show. */
export function useAction() {
  const [problem, setProblem] = useState<string>();
  const [success, setSuccess] = useState('');
  const [isRunning, setIsRunning] = useState(false);
  /** How many actions have ended. As a key of `usePolling`, it makes the page load what the actions changed. */
  const [actionCount, setActionCount] = useState(0);
  /** Resolves when the action has ended. If it succeeded, `message` confirms it. */
  const run = useCallback(async (action: () => Promise<unknown>, message = ''): Promise<void> => {
    setSuccess('');
    setProblem(undefined);
    setIsRunning(true);
    try {
      await action();
      setSuccess(message);
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setIsRunning(false);
      setActionCount((count) => count + 1);
    }
  }, []);
  return { problem, success, isRunning, actionCount, run };
}
