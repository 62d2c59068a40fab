import { useEffect } from 'preact/hooks';

/** Names the page in the browser's tab, and to a screen reader that arrives. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · gen3d`;
  }, [title]);
}
