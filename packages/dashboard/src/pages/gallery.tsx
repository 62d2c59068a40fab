import type { GalleryJob } from '@gen3d/schema/dashboard';
import { photoSides } from '@gen3d/schema/rules';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button, ConfirmButton } from '../components/buttons.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { type GalleryChoice, GalleryToolbar, viewLabels, views } from '../components/gallery-toolbar.js';
import { JobCard, UploadCard } from '../components/job-card.js';
import { ObjectsDialog } from '../components/photo-places.js';
import { downloadModels } from '../download.js';
import { cancelJob, deleteConsequence, deleteJob, jobName, retryJob } from '../jobs.js';
import { useTitle } from '../layout.js';
import { type ObjectPhotos, oneEach, photoTypes } from '../photos/sides.js';
import { useUploads } from '../photos/uploads.js';
import runningShoe from '../samples/running-shoe.webp';
import teapot from '../samples/teapot.webp';
import toyTruck from '../samples/toy-truck.webp';
import { useSession } from '../session.js';
import { useGallery } from '../use-gallery.js';

/** Converts the selection to parameters of the route `/gallery`. */
function filtersOf({ view, search }: GalleryChoice): URLSearchParams {
  const filters = new URLSearchParams();
  if (view !== 'all') filters.set('group', view);
  if (search.trim()) filters.set('search', search.trim());
  return filters;
}

/** Says why the list is empty. */
function emptyMessage({ view, search }: GalleryChoice): string {
  if (search) return `No jobs match “${search}”.`;
  return `No jobs in “${viewLabels[view]}”.`;
}

/** The gallery's latest URL, with its filters, to return to from a job. */
export let galleryUrl = '/';

/** The selection in the page's URL. `choose` changes it. */
function useChoice() {
  const { query, route, url } = useLocation();
  useEffect(() => {
    galleryUrl = url;
  }, [url]);
  const choice: GalleryChoice = {
    view: views.find((view) => view === query.show) ?? 'all',
    search: query.search ?? '',
  };
  const { view, search } = choice;
  const choose = useCallback(
    (change: Partial<GalleryChoice>) => {
      const next = { view, search, ...change };
      const params = new URLSearchParams();
      if (next.view !== 'all') params.set('show', next.view);
      if (next.search) params.set('search', next.search);
      route(params.size > 0 ? `/?${params}` : '/', true);
    },
    [view, search, route],
  );
  return { choice, choose };
}

/** Adds each photo as an object. Of two to four photos, which may show one object, `question` asks first. */
function useAddedPhotos(addObjects: (objects: readonly ObjectPhotos[]) => void) {
  const [several, setSeveral] = useState<readonly File[]>();
  const add = useCallback(
    (files: Iterable<File>) => {
      const photos = [...files];
      if (photos.length > 1 && photos.length <= photoSides.length) setSeveral(photos);
      else addObjects(oneEach(photos));
    },
    [addObjects],
  );
  const answer = (objects: readonly ObjectPhotos[]) => {
    setSeveral(undefined);
    addObjects(objects);
  };
  return { add, question: several && <ObjectsDialog photos={several} onAnswer={answer} /> };
}

export function GalleryPage() {
  useTitle('Models');
  const { api, account } = useSession();
  const { choice, choose } = useChoice();
  const { view, search } = choice;
  const [acceptedCount, setAcceptedCount] = useState(0);
  const onAccepted = useCallback(() => setAcceptedCount((count) => count + 1), []);
  const { uploads, add: addUploads, retry: sendAgain, dismiss } = useUploads(api, onAccepted);
  const { add, question } = useAddedPhotos(addUploads);
  const dragging = useDroppedFiles(add);
  const isSending = uploads.some(({ state }) => state === 'sending');
  const filters = useMemo(() => filtersOf({ view, search }), [view, search]);
  const { problem, success, isRunning, actionCount, run } = useAction();
  const gallery = useGallery(api, filters, isSending, acceptedCount + actionCount);
  const { jobs, loadMore } = gallery;
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>();
  const selectedJobs = (jobs ?? []).filter(({ task_id }) => selectedIds?.has(task_id));
  // Selected jobs of another view would be invisible.
  useEffect(() => setSelectedIds((ids) => ids && new Set()), [filters]);
  const select = (id: string, isSelected: boolean) => {
    const ids = new Set(selectedIds);
    if (isSelected) ids.add(id);
    else ids.delete(id);
    setSelectedIds(ids);
  };

  const deleteSelected = () => {
    const message = selectedJobs.length === 1 ? '1 job deleted.' : `${selectedJobs.length} jobs deleted.`;
    void run(async () => {
      for (const { task_id } of selectedJobs) await deleteJob(api, task_id);
      setSelectedIds(undefined);
    }, message);
  };
  const cancel = (job: GalleryJob) => void run(() => cancelJob(api, job.task_id), `${jobName(job)} was canceled.`);
  const tryAgain = (job: GalleryJob) => void run(() => retryJob(api, job.task_id), `${jobName(job)} was sent again.`);

  // Load the next page shortly before its button scrolls into view.
  const moreButton = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!moreButton.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && loadMore(), {
      rootMargin: '600px',
    });
    observer.observe(moreButton.current);
    return () => observer.disconnect();
  }, [loadMore, gallery.hasMore]);

  const filePicker = useRef<HTMLInputElement>(null);
  const pickFiles = () => filePicker.current?.click();
  const listedIds = new Set(jobs?.map(({ task_id }) => task_id));
  // The card of a job replaces that of its upload, also if the job is later deleted or filtered out.
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
        <Button label="Add photos" class="primary" onClick={pickFiles} />
      </div>
      {/* Hidden, because the button above opens it. */}
      <input
        ref={filePicker}
        type="file"
        accept={photoTypes}
        multiple
        hidden
        aria-label="Photos"
        onChange={(event) => {
          add(event.currentTarget.files ?? []);
          event.currentTarget.value = '';
        }}
      />
      {question}
      {!isNew && (
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
          isBusy={isRunning}
          onSelectAll={() => setSelectedIds(listedIds)}
          onDownload={() => void run(() => downloadModels(selectedJobs))}
          onDelete={account.sandbox ? undefined : deleteSelected}
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
          <button type="button" ref={moreButton} onClick={loadMore}>
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

const samples = [
  { name: 'teapot', url: teapot },
  { name: 'running shoe', url: runningShoe },
  { name: 'toy truck', url: toyTruck },
];

/** Offers three photos to try. Calls `onChoose` with the one that is clicked. */
function SamplePhotos({ onChoose }: { onChoose: (photo: File) => void }) {
  const [problem, setProblem] = useState<string>();
  const choose = async ({ name, url }: (typeof samples)[number]) => {
    try {
      const photo = await (await fetch(url)).blob();
      onChoose(new File([photo], `${name.replace(' ', '-')}.webp`, { type: 'image/webp' }));
    } catch {
      setProblem('The sample could not be loaded. Is the server running?');
    }
  };
  return (
    <section aria-labelledby="samples">
      <h2 id="samples">Or try a sample</h2>
      <ul class="samples">
        {samples.map((sample) => (
          <li key={sample.name}>
            <button type="button" aria-label={`Make a model of the ${sample.name}`} onClick={() => void choose(sample)}>
              <img src={sample.url} alt="" />
            </button>
          </li>
        ))}
      </ul>
      <Problem text={problem} />
    </section>
  );
}

/** Actions on the selected jobs. */
function SelectionBar(props: {
  jobs: readonly GalleryJob[];
  isBusy: boolean;
  onSelectAll: () => void;
  onDownload: () => void;
  /** Undefined if jobs of the account cannot be deleted. */
  onDelete: (() => void) | undefined;
}) {
  const { jobs, isBusy, onSelectAll, onDownload, onDelete } = props;
  const models = jobs.filter(({ model_urls }) => model_urls).length;
  return (
    <section class="panel row selection" aria-label="Selection">
      <p role="status">{jobs.length} selected</p>
      <Button label="Select all shown" class="small" onClick={onSelectAll} />
      <button type="button" class="small" disabled={models === 0 || isBusy} onClick={onDownload}>
        {models < jobs.length
          ? `Download ${models} of ${jobs.length}`
          : models > 1
            ? `Download ${models} models`
            : 'Download'}
      </button>
      {onDelete && jobs.length > 0 && !isBusy && (
        <ConfirmButton
          label="Delete"
          small
          question={jobs.length === 1 ? 'Delete this job?' : `Delete ${jobs.length} jobs?`}
          consequence={deleteConsequence}
          onConfirm={onDelete}
        />
      )}
    </section>
  );
}

const filesOf = (data: DataTransfer | null) => [...(data?.files ?? [])];

/** Adds photos that are dropped on the page or pasted. Returns whether files are being dragged over it. */
function useDroppedFiles(add: (files: File[]) => void): boolean {
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    const onDragOver = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setDragging(true);
    };
    const onDragLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setDragging(false);
    };
    const onDrop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setDragging(false);
      add(filesOf(event.dataTransfer));
    };
    const onPaste = (event: ClipboardEvent) => {
      const files = filesOf(event.clipboardData);
      if (files.length > 0) add(files);
    };
    const listeners = new AbortController();
    const { signal } = listeners;
    document.addEventListener('dragover', onDragOver, { signal });
    document.addEventListener('dragleave', onDragLeave, { signal });
    document.addEventListener('drop', onDrop, { signal });
    document.addEventListener('paste', onPaste, { signal });
    return () => listeners.abort();
  }, [add]);
  return dragging;
}
