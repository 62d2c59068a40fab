import type { GalleryPage } from '@gen3d/schema/dashboard';
import { useEffect, useState } from 'preact/hooks';
import { Button, Choice } from './buttons.js';

export const views = ['all', 'in_progress', 'done', 'failed'] as const;
export type View = (typeof views)[number];
export const viewLabels: Record<View, string> = {
  all: 'All',
  in_progress: 'In progress',
  done: 'Done',
  failed: 'Failed',
};

/** Describes which jobs the gallery shows. It is part of the URL, so going back from a job restores it. */
export interface GalleryChoice {
  view: View;
  search: string;
}

/** The server stops counting here. */
const maxCount = 1_000;
const searchDelayMs = 250;

const countLabel = (count: number) => (count >= maxCount ? `${maxCount.toLocaleString('en-US')}+` : String(count));

export function GalleryToolbar(props: {
  choice: GalleryChoice;
  counts: GalleryPage['counts'] | undefined;
  isSelecting: boolean;
  onChoose: (change: Partial<GalleryChoice>) => void;
  onSelectMode: (isSelecting: boolean) => void;
}) {
  const { choice, counts, isSelecting, onChoose, onSelectMode } = props;
  const [search, setSearch] = useState(choice.search);
  useEffect(() => setSearch(choice.search), [choice.search]);
  useEffect(() => {
    if (search === choice.search) return;
    const timer = setTimeout(() => onChoose({ search }), searchDelayMs);
    return () => clearTimeout(timer);
  }, [search, choice.search, onChoose]);

  const options = views.map((view) => {
    const count = view === 'all' ? counts && counts.in_progress + counts.done + counts.failed : counts?.[view];
    const label = (
      <>
        {viewLabels[view]}
        {count !== undefined && <span class="count"> {countLabel(count)}</span>}
      </>
    );
    return { value: view, label };
  });
  return (
    <div class="toolbar">
      <Choice legend="Show" options={options} value={choice.view} onChange={(view) => onChoose({ view })} />
      <div class="row">
        <input
          type="search"
          aria-label="Search by name or id"
          placeholder="Search"
          value={search}
          maxLength={200}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <Button label="Select" aria-pressed={isSelecting} onClick={() => onSelectMode(!isSelecting)} />
      </div>
    </div>
  );
}
