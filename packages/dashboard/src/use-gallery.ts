import { type GalleryJob, GalleryPage } from '@gen3d/schema/dashboard';
import { limits } from '@gen3d/schema/rules';
import { useCallback, useRef, useState } from 'preact/hooks';
import type { Api } from './api.js';
import { usePolling } from './polling.js';

const pageSize = 24;

interface GalleryState {
  /** These jobs match this query. */
  query: string;
  jobs: readonly GalleryJob[];
  cursor: string | undefined;
  counts: GalleryPage['counts'];
}

export const isOpen = ({ finished_at }: GalleryJob): boolean => finished_at === null;

/** Puts the first jobs, which were just read, above the loaded ones that were not read again. */
export function merged(
  previous: GalleryState | undefined,
  { jobs, next_cursor, counts }: GalleryPage,
  query: string,
): GalleryState {
  const lastId = jobs.at(-1)?.task_id;
  const end = previous?.jobs.findIndex(({ task_id }) => task_id === lastId) ?? -1;
  if (!previous || next_cursor === undefined || end === -1) return { query, jobs, cursor: next_cursor, counts };
  const read = new Set(jobs.map(({ task_id }) => task_id));
  const below = previous.jobs.slice(end + 1).filter(({ task_id }) => !read.has(task_id));
  return { query, jobs: [...jobs, ...below], cursor: below.length > 0 ? previous.cursor : next_cursor, counts };
}

/**
 * Loads the jobs that match a query, page by page, and keeps the first 100 up to date. While another query loads, the
 * jobs of the previous one stay.
 *
 * @param filters parameters of the route `/gallery` without `limit` and `cursor`
 * @param isBusy whether the page is about to create jobs
 * @param changeCount how often the page has changed jobs; the jobs are loaded again when this count grows
 */
export function useGallery(api: Api, filters: URLSearchParams, isBusy: boolean, changeCount: number) {
  const query = filters.toString();
  const [state, setState] = useState<GalleryState>();
  const [problem, setProblem] = useState<string>();
  const current = state?.query === query ? state : undefined;

  const loadProblem = usePolling(async () => {
    const limit = Math.min(limits.pageSize.max, Math.max(pageSize, current?.jobs.length ?? 0));
    const page = await api.get(`/gallery?${query}&limit=${limit}`, GalleryPage);
    setState((previous) => merged(previous?.query === query ? previous : undefined, page, query));
    setProblem(undefined);
    return (page.counts?.in_progress ?? 0) > 0 || isBusy;
  }, `${query} ${changeCount}`);

  const cursor = current?.cursor;
  const isLoadingMore = useRef(false);
  const loadMore = useCallback(async () => {
    if (cursor === undefined || isLoadingMore.current) return;
    isLoadingMore.current = true;
    try {
      const page = await api.get(`/gallery?${query}&limit=${pageSize}&${new URLSearchParams({ cursor })}`, GalleryPage);
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
