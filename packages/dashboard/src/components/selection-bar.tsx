import type { GalleryJob } from '@gen3d/schema/dashboard';

/** Actions on the selected jobs. */
export function SelectionBar(props: {
  jobs: readonly GalleryJob[];
  /** Whether the gallery shows hidden jobs. */
  areHidden: boolean;
  isBusy: boolean;
  onSelectAll: () => void;
  onDownload: () => void;
  /** Undefined if jobs of the account cannot be hidden. */
  onHide: ((hidden: boolean) => void) | undefined;
}) {
  const { jobs, areHidden, isBusy, onSelectAll, onDownload, onHide } = props;
  const models = jobs.filter(({ model_urls }) => model_urls).length;
  return (
    <section class="panel row selection" aria-label="Selection">
      <p role="status">{jobs.length} selected</p>
      <button type="button" class="small" onClick={onSelectAll}>
        Select all shown
      </button>
      <button type="button" class="small" disabled={models === 0 || isBusy} onClick={onDownload}>
        {models > 1 ? `Download ${models} models` : 'Download'}
      </button>
      {onHide && (
        <button type="button" class="small" disabled={jobs.length === 0 || isBusy} onClick={() => onHide(!areHidden)}>
          {areHidden ? 'Show again' : 'Hide'}
        </button>
      )}
    </section>
  );
}
