import { useLayoutEffect } from 'preact/hooks';

/** Sets the title of the browser tab, which a screen reader also announces. */
export function useTitle(title: string): void {
  // Together with the heading: an effect after painting would leave the previous page's title for a moment.
  useLayoutEffect(() => {
    document.title = `${title} · gen3d`;
  }, [title]);
}
