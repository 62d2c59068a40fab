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
  /** Resolves to whether `action` succeeded. `message` then confirms it. */
  const run = useCallback(async (action: () => Promise<unknown>, message = ''): Promise<boolean> => {
    setSuccess('');
    setProblem(undefined);
    try {
      await action();
      setSuccess(message);
      return true;
    } catch (error) {
      setProblem((error as Error).message);
      return false;
    }
  }, []);
  return { problem, success, run };
}
