import { useLayoutEffect } from 'preact/hooks';

/** Sets the title of the browser tab, which a screen reader also announces. */
export function useTitle(title: string): void {
  // Runs before the browser paints, so the title changes together with the heading. `useEffect` would leave the
  // previous page's title for a moment.
  useLayoutEffect(() => {
    document.title = `${title} · gen3d`;
  }, [title]);
}
