import { ListJobsResponse, Task } from '@gen3d/schema/dashboard';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Problem } from '../components/feedback.js';
import { JobCard, UploadCard } from '../components/job-card.js';
import { SamplePhotos } from '../components/sample-photos.js';
import { statusLabels } from '../labels.js';
import { useUploads } from '../photos/uploads.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';

const pageSize = 24;
const maxRunningBelowFirstPage = 20;
const statuses = ['SUCCEEDED', 'IN_PROGRESS', 'QUEUED', 'PENDING', 'FAILED', 'CANCELED'] as const;
const isOpen = ({ finished_at }: Task) => finished_at === null;

/** Both lists, newest first. A task in `updates` replaces the same task in `tasks`. */
function merged(tasks: readonly Task[], updates: readonly Task[]): Task[] {
  const byId = new Map([...tasks, ...updates].map((task) => [task.task_id, task]));
  return [...byId.values()].sort((a, b) => (a.task_id < b.task_id ? 1 : -1));
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

export function GalleryPage() {
  useTitle('Models');
  const { api, account } = useSession();
  const { query, route } = useLocation();
  // The URL holds the filter, so that going back from a job restores it.
  const status = statuses.find((one) => one.toLowerCase() === query.status) ?? '';
  const [tasks, setTasks] = useState<Task[]>();
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [uploadCount, setUploadCount] = useState(0);
  const filePicker = useRef<HTMLInputElement>(null);

  const loadPage = useCallback(
    (after?: string) => {
      const query = new URLSearchParams({ limit: String(pageSize) });
      if (status) query.set('status', status);
      if (after !== undefined) query.set('cursor', after);
      return api.get(`/jobs?${query}`, ListJobsResponse);
    },
    [api, status],
  );

  const { uploads, add, retry, dismiss } = useUploads(
    api,
    useCallback(() => setUploadCount((count) => count + 1), []),
  );
  const dragging = useDroppedFiles(add);

  useEffect(() => {
    setTasks(undefined);
    setCursor(undefined);
    setProblem(undefined);
  }, [loadPage]);

  usePolling(async () => {
    try {
      const { jobs, next_cursor } = await loadPage();
      const onFirstPage = new Set(jobs.map(({ task_id }) => task_id));
      // Read open jobs below the first page one by one. There are few, because the oldest jobs run first.
      const openBelow = (tasks ?? [])
        .filter((task) => isOpen(task) && !onFirstPage.has(task.task_id))
        .slice(0, maxRunningBelowFirstPage);
      const updates = [
        ...jobs,
        ...(await Promise.all(openBelow.map(({ task_id }) => api.get(`/jobs/${task_id}`, Task)))),
      ];
      setTasks((previous) => merged(previous ?? [], updates).filter((task) => !status || task.status === status));
      if (tasks === undefined) setCursor(next_cursor);
      setProblem(undefined);
      return updates.some(isOpen) || uploads.some(({ state }) => state === 'sending');
    } catch (error) {
      setProblem((error as Error).message);
      throw error;
    }
  }, `${status} ${account.account_id} ${uploadCount}`);

  const loadMore = useCallback(async () => {
    if (cursor === undefined) return;
    setCursor(undefined);
    try {
      const { jobs, next_cursor } = await loadPage(cursor);
      setTasks((previous) => merged(previous ?? [], jobs));
      setCursor(next_cursor);
    } catch (error) {
      setProblem((error as Error).message);
      setCursor(cursor);
    }
  }, [cursor, loadPage]);

  // Load the next page shortly before its button scrolls into view.
  const moreButton = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!moreButton.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void loadMore(), {
      rootMargin: '600px',
    });
    observer.observe(moreButton.current);
    return () => observer.disconnect();
  }, [loadMore]);

  const listedIds = new Set(tasks?.map(({ task_id }) => task_id));
  const shownUploads = uploads.filter(({ jobId }) => jobId === undefined || (!status && !listedIds.has(jobId)));
  const openCount = (tasks ?? []).filter(isOpen).length;
  const isEmpty = tasks?.length === 0 && shownUploads.length === 0;

  return (
    <>
      <div class="heading">
        <h1>Models</h1>
        <button type="button" class="primary" onClick={() => filePicker.current?.click()}>
          Add photos
        </button>
      </div>
      {/* Hidden, because the button above opens it. */}
      <input
        ref={filePicker}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label="Photos"
        onChange={(event) => {
          add(event.currentTarget.files ?? []);
          event.currentTarget.value = '';
        }}
      />
      <div class="row between">
        <fieldset class="filter">
          <legend class="hidden">Show</legend>
          {(['', ...statuses] as const).map((one) => (
            <label key={one}>
              <input
                type="radio"
                name="status"
                checked={status === one}
                onChange={() => route(one ? `/?status=${one.toLowerCase()}` : '/', true)}
              />
              <span>{one ? statusLabels[one] : 'All'}</span>
            </label>
          ))}
        </fieldset>
        <p class="hint" role="status">
          {openCount > 0 ? `${openCount} in progress` : ''}
        </p>
      </div>
      <Problem text={problem} />
      {isEmpty && status === '' && (
        <>
          <button type="button" class="drop-zone" onClick={() => filePicker.current?.click()}>
            <strong>Drop a photo here</strong>
            <span>or paste one, or click to choose some. Best: one whole object on a plain background.</span>
          </button>
          <SamplePhotos onChoose={(photo) => add([photo])} />
        </>
      )}
      {isEmpty && status !== '' && <p class="empty">No jobs with the status “{statusLabels[status]}”.</p>}
      <ul class="gallery">
        {shownUploads.map((upload) => (
          <li key={upload.key}>
            <UploadCard upload={upload} onRetry={() => retry(upload)} onDismiss={() => dismiss(upload.key)} />
          </li>
        ))}
        {tasks?.map((task) => (
          <li key={task.task_id}>
            <JobCard task={task} preview={uploads.find(({ jobId }) => jobId === task.task_id)?.preview} />
          </li>
        ))}
      </ul>
      {cursor !== undefined && (
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
