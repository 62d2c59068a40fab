import { useEffect } from 'preact/hooks';

/** Sets the title of the browser tab, which a screen reader also announces. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · gen3d`;
  }, [title]);
}
