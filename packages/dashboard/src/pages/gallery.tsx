import type { GalleryJob } from '@gen3d/schema/dashboard';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Problem, Success, useAction } from '../components/feedback.js';
import { type GalleryChoice, GalleryToolbar, sorts, viewLabels, views } from '../components/gallery-toolbar.js';
import { JobCard, UploadCard } from '../components/job-card.js';
import { SamplePhotos } from '../components/sample-photos.js';
import { SelectionBar } from '../components/selection-bar.js';
import { downloadModels } from '../download.js';
import { cancelJob, retryJob, setHidden } from '../job-requests.js';
import { jobName } from '../labels.js';
import { useUploads } from '../photos/uploads.js';
import { useDroppedFiles } from '../photos/use-dropped-files.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { useGallery } from '../use-gallery.js';

/** The parameters of the route `/gallery`. */
function filtersOf({ view, sort, search }: GalleryChoice): URLSearchParams {
  const filters = new URLSearchParams({ sort });
  if (view === 'hidden') filters.set('visibility', 'hidden');
  else if (view !== 'all') filters.set('group', view);
  if (search.trim()) filters.set('search', search.trim());
  return filters;
}

/** Why the list is empty. */
function emptyMessage({ view, search }: GalleryChoice): string {
  if (search) return `No jobs match “${search}”.`;
  return `No jobs in “${viewLabels[view]}”.`;
}

/** The gallery's latest URL, with its filters, to return to from a job. */
export let galleryUrl = '/';

export function GalleryPage() {
  useTitle('Models');
  const { api, account } = useSession();
  const { query, route, url } = useLocation();
  useEffect(() => {
    galleryUrl = url;
  }, [url]);
  const choice: GalleryChoice = {
    view: views.find((view) => view === query.show) ?? 'all',
    sort: sorts.find((sort) => sort === query.sort) ?? 'newest',
    search: query.search ?? '',
  };
  const { view, sort, search } = choice;
  const choose = useCallback(
    (change: Partial<GalleryChoice>) => {
      const next = { view, sort, search, ...change };
      const params = new URLSearchParams();
      if (next.view !== 'all') params.set('show', next.view);
      if (next.sort !== 'newest') params.set('sort', next.sort);
      if (next.search) params.set('search', next.search);
      route(params.size > 0 ? `/?${params}` : '/', true);
    },
    [view, sort, search, route],
  );

  const [acceptedCount, setAcceptedCount] = useState(0);
  const onAccepted = useCallback(() => setAcceptedCount((count) => count + 1), []);
  const { uploads, add, retry: sendAgain, dismiss } = useUploads(api, onAccepted);
  const dragging = useDroppedFiles(add);
  const isSending = uploads.some(({ state }) => state === 'sending');
  const filters = useMemo(() => filtersOf({ view, sort, search }), [view, sort, search]);
  const gallery = useGallery(api, filters, isSending);
  const { jobs, loadMore, refresh } = gallery;
  useEffect(() => {
    if (acceptedCount > 0) refresh();
  }, [acceptedCount, refresh]);

  const { problem, success, run } = useAction();
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>();
  const [isBusy, setIsBusy] = useState(false);
  const selectedJobs = (jobs ?? []).filter(({ task_id }) => selectedIds?.has(task_id));
  // Selected jobs of another view would be invisible.
  useEffect(() => setSelectedIds((ids) => ids && new Set()), [filters]);
  const select = (id: string, isSelected: boolean) => {
    const ids = new Set(selectedIds);
    if (isSelected) ids.add(id);
    else ids.delete(id);
    setSelectedIds(ids);
  };

  const act = async (action: () => Promise<unknown>, message: string) => {
    setIsBusy(true);
    await run(action, message);
    setIsBusy(false);
    refresh();
  };
  const hideSelected = (hidden: boolean) => {
    const count = selectedJobs.length === 1 ? '1 job' : `${selectedJobs.length} jobs`;
    const message = hidden
      ? `${count} hidden. The filter “Hidden” shows them; their URLs stay valid.`
      : `${count} shown again.`;
    void act(async () => {
      const ids = selectedJobs.map(({ task_id }) => task_id);
      await setHidden(api, ids, hidden);
      setSelectedIds(undefined);
    }, message);
  };
  const cancel = (job: GalleryJob) => void act(() => cancelJob(api, job.task_id), `${jobName(job)} was canceled.`);
  const tryAgain = (job: GalleryJob) => void act(() => retryJob(api, job.task_id), `${jobName(job)} was sent again.`);

  // Load the next page shortly before its button scrolls into view.
  const moreButton = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!moreButton.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void loadMore(), {
      rootMargin: '600px',
    });
    observer.observe(moreButton.current);
    return () => observer.disconnect();
  }, [loadMore, gallery.hasMore]);

  const filePicker = useRef<HTMLInputElement>(null);
  const pickFiles = () => filePicker.current?.click();
  const listedIds = new Set(jobs?.map(({ task_id }) => task_id));
  // The card of a job replaces that of its upload, also if the job is later hidden or filtered out.
  const everListedIds = useRef(new Set<string>());
  for (const id of listedIds) everListedIds.current.add(id);
  const shownUploads = uploads.filter(
    ({ jobId }) => jobId === undefined || (view === 'all' && !search && !everListedIds.current.has(jobId)),
  );
  const isEmpty = gallery.isCurrent && jobs?.length === 0 && shownUploads.length === 0;
  const isNew = isEmpty && view === 'all' && !search;
  return (
    <>
      <div class="heading">
        <h1>Models</h1>
        <button type="button" class="primary" onClick={pickFiles}>
          Add photos
        </button>
      </div>
      {/* Hidden, because the button above opens it. */}
      <input
        ref={filePicker}
        type="file"
        accept="image/*,.heic,.heif,.avif,.tif,.tiff"
        multiple
        hidden
        aria-label="Photos"
        onChange={(event) => {
          add(event.currentTarget.files ?? []);
          event.currentTarget.value = '';
        }}
      />
      {!(isNew && gallery.counts?.hidden === 0) && (
        <GalleryToolbar
          choice={choice}
          counts={gallery.counts}
          isSelecting={selectedIds !== undefined}
          onChoose={choose}
          onSelectMode={(isSelecting) => setSelectedIds(isSelecting ? new Set() : undefined)}
        />
      )}
      {selectedIds && (
        <SelectionBar
          jobs={selectedJobs}
          areHidden={view === 'hidden'}
          isBusy={isBusy}
          onSelectAll={() => setSelectedIds(listedIds)}
          onDownload={() => void act(() => downloadModels(selectedJobs), '')}
          onHide={account.sandbox ? undefined : hideSelected}
        />
      )}
      <Problem text={gallery.problem ?? problem} />
      <Success text={success} />
      {isNew && (
        <>
          <button type="button" class="drop-zone" onClick={pickFiles}>
            <strong>Drop a photo here</strong>
            <span>or paste one, or click to choose some. Best: one whole object on a plain background.</span>
          </button>
          <SamplePhotos onChoose={(photo) => add([photo])} />
        </>
      )}
      {isEmpty && !isNew && <p class="empty">{emptyMessage(choice)}</p>}
      <ul class="gallery">
        {shownUploads.map((upload) => (
          <li key={upload.key}>
            <UploadCard upload={upload} onRetry={() => sendAgain(upload)} onDismiss={() => dismiss(upload.key)} />
          </li>
        ))}
        {jobs?.map((job) => (
          <li key={job.task_id}>
            <JobCard
              job={job}
              preview={uploads.find(({ jobId }) => jobId === job.task_id)?.preview}
              selected={selectedIds?.has(job.task_id)}
              onSelect={(isSelected) => select(job.task_id, isSelected)}
              onCancel={() => cancel(job)}
              onRetry={() => tryAgain(job)}
            />
          </li>
        ))}
      </ul>
      {gallery.hasMore && (
        <p class="row center">
          <button type="button" ref={moreButton} onClick={() => void loadMore()}>
            Show more
          </button>
        </p>
      )}
      {dragging && (
        <div class="drop-overlay" aria-hidden="true">
          <span>Drop to make models</span>
        </div>
      )}
    </>
  );
}
