import { type GalleryJob, GalleryPage } from '@gen3d/schema/dashboard';
import { limits } from '@gen3d/schema/rules';
import { useCallback, useState } from 'preact/hooks';
import type { Api } from './api.js';
import { usePolling } from './polling.js';
import { readPages } from './read-pages.js';

/** The number of jobs that are shown at first, and that are added each time. */
const step = 24;

interface LoadedJobs {
  /** These jobs match this query. */
  query: string;
  jobs: readonly GalleryJob[];
  hasMore: boolean;
  counts: GalleryPage['counts'];
}

export const isOpen = ({ finished_at }: GalleryJob): boolean => finished_at === null;

/**
 * Loads the newest jobs that match a query, more of them on request, and keeps them up to date. While another query
 * loads, the jobs of the previous one stay.
 *
 * @param filters parameters of the route `/gallery` without `limit` and `cursor`
 * @param isBusy whether the page is about to create jobs
 * @param changeCount how often the page has changed jobs; the jobs are loaded again when this count grows
 */
export function useGallery(api: Api, filters: URLSearchParams, isBusy: boolean, changeCount: number) {
  const query = filters.toString();
  const [loaded, setLoaded] = useState<LoadedJobs>();
  const [wanted, setWanted] = useState({ query, count: step });
  const count = wanted.query === query ? wanted.count : step;
  const key = `${query} ${count} ${changeCount}`;

  const problem = usePolling(async (isCurrent) => {
    const path = `/gallery?${query}&limit=${Math.min(limits.pageSize.max, count)}`;
    const { pages, hasMore } = await readPages(api, path, GalleryPage, { count, sizeOf: ({ jobs }) => jobs.length });
    const counts = pages.at(-1)?.counts;
    if (isCurrent()) setLoaded({ query, jobs: pages.flatMap(({ jobs }) => jobs), hasMore, counts });
    // Every second for one page only: each further one is a request of its own.
    return pages.length === 1 && ((counts?.in_progress ?? 0) > 0 || isBusy);
  }, key);

  const isCurrent = loaded?.query === query;
  const shown = isCurrent ? loaded.jobs.length : 0;
  const loadMore = useCallback(() => setWanted({ query, count: shown + step }), [query, shown]);
  return {
    jobs: loaded?.jobs,
    counts: loaded?.counts,
    /** Whether `jobs` are those of the query, not of the previous one. */
    isCurrent,
    hasMore: isCurrent && loaded.hasMore,
    loadMore,
    problem,
  };
}
