import { GalleryJob, GalleryPage, type JobGroup } from '@gen3d/schema/dashboard';
import { useCallback, useRef, useState } from 'preact/hooks';
import { type Api, ApiError } from './api.js';
import { usePolling } from './polling.js';

const pageSize = 24;
const maxOpenBelowFirstPage = 20;

interface GalleryState {
  /** These jobs match this query. */
  query: string;
  jobs: GalleryJob[];
  cursor: string | undefined;
  counts: GalleryPage['counts'];
}

export const isOpen = ({ finished_at }: GalleryJob): boolean => finished_at === null;

export function groupOf({ status }: GalleryJob): JobGroup {
  if (status === 'SUCCEEDED') return 'done';
  return status === 'FAILED' || status === 'CANCELED' ? 'failed' : 'in_progress';
}

/** Puts the first page, just read, above the jobs of earlier pages. `updates` changes these; undefined removes one. */
export function merged(
  previous: GalleryState | undefined,
  { jobs, next_cursor, counts }: GalleryPage,
  updates: ReadonlyMap<string, GalleryJob | undefined>,
  query: string,
  group: JobGroup | undefined,
): GalleryState {
  const lastId = jobs.at(-1)?.task_id;
  const end = previous?.jobs.findIndex(({ task_id }) => task_id === lastId) ?? -1;
  if (!previous || next_cursor === undefined || end === -1) return { query, jobs, cursor: next_cursor, counts };
  const onFirstPage = new Set(jobs.map(({ task_id }) => task_id));
  const below = previous.jobs
    .slice(end + 1)
    .filter(({ task_id }) => !onFirstPage.has(task_id))
    .flatMap((job) => (updates.has(job.task_id) ? (updates.get(job.task_id) ?? []) : [job]))
    .filter((job) => group === undefined || groupOf(job) === group);
  return { query, jobs: [...jobs, ...below], cursor: below.length > 0 ? previous.cursor : next_cursor, counts };
}

/**
 * Loads the jobs that match a query, page by page, and keeps them up to date. While another query loads, the jobs of
 * the previous one stay.
 *
 * @param filters parameters of the route `/gallery` without `limit` and `cursor`
 * @param isBusy whether the page is about to create jobs
 * @param changeCount how often the page has changed jobs; the jobs are loaded again when this count grows
 */
export function useGallery(api: Api, filters: URLSearchParams, isBusy: boolean, changeCount: number) {
  const query = new URLSearchParams({ limit: String(pageSize), ...Object.fromEntries(filters) }).toString();
  const group = (filters.get('group') ?? undefined) as JobGroup | undefined;
  const [state, setState] = useState<GalleryState>();
  const [problem, setProblem] = useState<string>();
  const current = state?.query === query ? state : undefined;

  const find = (id: string) =>
    api.get(`/gallery/${id}`, GalleryJob).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    });
  const loadProblem = usePolling(async () => {
    const page = await api.get(`/gallery?${query}`, GalleryPage);
    const onFirstPage = new Set(page.jobs.map(({ task_id }) => task_id));
    // Read open jobs below the first page one by one. There are few, because the oldest jobs run first.
    const openBelow = (current?.jobs ?? [])
      .filter((job) => isOpen(job) && !onFirstPage.has(job.task_id))
      .slice(0, maxOpenBelowFirstPage);
    const updates = await Promise.all(openBelow.map(async ({ task_id }) => [task_id, await find(task_id)] as const));
    setState((previous) => {
      return merged(previous?.query === query ? previous : undefined, page, new Map(updates), query, group);
    });
    setProblem(undefined);
    return (page.counts?.in_progress ?? 0) > 0 || isBusy;
  }, `${query} ${changeCount}`);

  const cursor = current?.cursor;
  const isLoadingMore = useRef(false);
  const loadMore = useCallback(async () => {
    if (cursor === undefined || isLoadingMore.current) return;
    isLoadingMore.current = true;
    try {
      const page = await api.get(`/gallery?${query}&${new URLSearchParams({ cursor })}`, GalleryPage);
      // Polling may have replaced the list meanwhile.
      setState((previous) => {
        if (previous?.query !== query || previous.cursor !== cursor) return previous;
        const known = new Set(previous.jobs.map(({ task_id }) => task_id));
        const added = page.jobs.filter(({ task_id }) => !known.has(task_id));
        return { ...previous, jobs: [...previous.jobs, ...added], cursor: page.next_cursor, counts: page.counts };
      });
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      isLoadingMore.current = false;
    }
  }, [api, query, cursor]);

  return {
    jobs: state?.jobs,
    counts: state?.counts,
    /** Whether `jobs` are those of the query, not of the previous one. */
    isCurrent: current !== undefined,
    hasMore: cursor !== undefined,
    loadMore,
    problem: loadProblem ?? problem,
  };
}
