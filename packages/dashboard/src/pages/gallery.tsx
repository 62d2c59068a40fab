import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { ListJobsResponse, Task } from '../api.js';
import { JobCard, UploadCard } from '../parts/job-card.js';
import { Problem } from '../parts/problem.js';
import { useUploads } from '../photos/uploads.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { statusWords } from '../words.js';

const pageSize = 24;
const filters = ['SUCCEEDED', 'IN_PROGRESS', 'QUEUED', 'PENDING', 'FAILED', 'CANCELED'] as const;
const isOpen = ({ finished_at }: Task) => finished_at === null;

/** Newest first; what came later replaces what was there. */
function merged(tasks: readonly Task[], news: readonly Task[]): Task[] {
  const byId = new Map([...tasks, ...news].map((task) => [task.task_id, task]));
  return [...byId.values()].sort((a, b) => (a.task_id < b.task_id ? 1 : -1));
}

export function GalleryPage() {
  useTitle('Models');
  const { call, account } = useSession();
  const { query, route } = useLocation();
  // In the address, so that who comes back from a job finds it as it was.
  const status = filters.find((one) => one.toLowerCase() === query.status) ?? '';
  const [tasks, setTasks] = useState<Task[]>();
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [round, setRound] = useState(0);
  const [dragging, setDragging] = useState(false);
  const picker = useRef<HTMLInputElement>(null);

  const page = useCallback(
    (after?: string) => {
      const query = new URLSearchParams({ limit: String(pageSize) });
      if (status) query.set('status', status);
      if (after !== undefined) query.set('cursor', after);
      return call<ListJobsResponse>('GET', `/jobs?${query}`);
    },
    [call, status],
  );

  const { uploads, add, retry, dismiss } = useUploads(
    call,
    useCallback(() => setRound((number) => number + 1), []),
  );

  useEffect(() => {
    setTasks(undefined);
    setCursor(undefined);
    setProblem(undefined);
  }, [page]);

  usePolling(async () => {
    try {
      const { jobs, next_cursor } = await page();
      const newest = new Set(jobs.map(({ task_id }) => task_id));
      // Jobs below the first page that still run are asked for one by one; there are few, as the queue's oldest come first.
      const below = (tasks ?? []).filter((task) => isOpen(task) && !newest.has(task.task_id)).slice(0, 20);
      const others = await Promise.all(below.map(({ task_id }) => call<Task>('GET', `/jobs/${task_id}`)));
      const news = [...jobs, ...others];
      const fits = (task: Task) => !status || task.status === status;
      setTasks((known) => merged(known ?? [], news).filter(fits));
      if (tasks === undefined) setCursor(next_cursor);
      setProblem(undefined);
      return news.some(isOpen) || uploads.some(({ state }) => state === 'sending');
    } catch (error) {
      setProblem((error as Error).message);
      throw error;
    }
  }, `${status} ${account.account_id} ${round}`);

  const more = useCallback(async () => {
    if (cursor === undefined) return;
    setCursor(undefined);
    try {
      const { jobs, next_cursor } = await page(cursor);
      setTasks((known) => merged(known ?? [], jobs));
      setCursor(next_cursor);
    } catch (error) {
      setProblem((error as Error).message);
      setCursor(cursor);
    }
  }, [cursor, page]);

  const end = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!end.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void more(), {
      rootMargin: '600px',
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [more]);

  useEffect(() => {
    const files = (data: DataTransfer | null) => [...(data?.files ?? [])];
    const dragged = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setDragging(true);
    };
    const left = (event: DragEvent) => {
      if (event.relatedTarget === null) setDragging(false);
    };
    const dropped = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setDragging(false);
      add(files(event.dataTransfer));
    };
    const pasted = (event: ClipboardEvent) => {
      const pictures = files(event.clipboardData);
      if (pictures.length > 0) add(pictures);
    };
    document.addEventListener('dragover', dragged);
    document.addEventListener('dragleave', left);
    document.addEventListener('drop', dropped);
    document.addEventListener('paste', pasted);
    return () => {
      document.removeEventListener('dragover', dragged);
      document.removeEventListener('dragleave', left);
      document.removeEventListener('drop', dropped);
      document.removeEventListener('paste', pasted);
    };
  }, [add]);

  const known = useMemo(() => new Set(tasks?.map(({ task_id }) => task_id)), [tasks]);
  const waiting = uploads.filter(({ jobId }) => jobId === undefined || (!status && !known.has(jobId)));
  const running = (tasks ?? []).filter(isOpen).length;
  const nothing = tasks?.length === 0 && waiting.length === 0;

  return (
    <>
      <div class="heading">
        <h1>Models</h1>
        <button type="button" class="primary" onClick={() => picker.current?.click()}>
          Add photos
        </button>
      </div>
      {/* The button above opens it; as a field of its own it would only be a second way to the same place. */}
      <input
        ref={picker}
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
          {(['', ...filters] as const).map((one) => (
            <label key={one}>
              <input
                type="radio"
                name="status"
                checked={status === one}
                onChange={() => route(one ? `/?status=${one.toLowerCase()}` : '/', true)}
              />
              <span>{one ? statusWords[one] : 'All'}</span>
            </label>
          ))}
        </fieldset>
        <p class="hint" role="status">
          {running > 0 ? `${running} in the making` : ''}
        </p>
      </div>
      <Problem text={problem} />
      {nothing && status === '' && (
        <button type="button" class="drop-here" onClick={() => picker.current?.click()}>
          <strong>Drop a photo here</strong>
          <span>or paste one, or click to pick some. One thing, whole, on a plain background works best.</span>
        </button>
      )}
      {nothing && status !== '' && <p class="empty">No job is {statusWords[status].toLowerCase()}.</p>}
      <ul class="gallery">
        {waiting.map((upload) => (
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
          <button type="button" ref={end} onClick={() => void more()}>
            Show more
          </button>
        </p>
      )}
      {dragging && (
        <div class="drop-veil" aria-hidden="true">
          <span>Drop to make models</span>
        </div>
      )}
    </>
  );
}
