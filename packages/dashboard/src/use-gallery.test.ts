import type { GalleryJob } from '@gen3d/schema/dashboard';
import { describe, expect, test } from 'vitest';
import type { Api } from './api.js';
import { readJobs } from './use-gallery.js';

const job = (task_id: string, change: Partial<GalleryJob> = {}): GalleryJob => ({
  task_id,
  type: 'image-to-3d',
  status: 'QUEUED',
  progress: 25,
  created_at: '2026-01-02T03:04:05.000Z',
  finished_at: null,
  label: null,
  views: [],
  inference_seconds: null,
  work_seconds: null,
  queue_position: null,
  stage: null,
  warnings: [],
  can_cancel: true,
  can_retry: false,
  share_path: null,
  ...change,
});
const counts = { in_progress: 1, done: 2, failed: 3 };

/** Serves jobs in pages, and records the requests. */
function apiWith(total: number) {
  const jobs = Array.from({ length: total }, (_, index) => job(`job ${index}`));
  const requests: string[] = [];
  const get = async (path: string) => {
    requests.push(path);
    const parameters = new URLSearchParams(path.split('?')[1]);
    const start = Number(parameters.get('cursor'));
    const end = start + Number(parameters.get('limit'));
    return { jobs: jobs.slice(start, end), counts, ...(end < total && { next_cursor: String(end) }) };
  };
  return { api: { get } as unknown as Pick<Api, 'get'>, jobs, requests };
}

describe('the jobs of the gallery', () => {
  test('are read as far as they are shown, also beyond the first page', async () => {
    const { api, jobs, requests } = apiWith(300);
    expect(await readJobs(api, 'group=done', 150)).toEqual({ jobs: jobs.slice(0, 150), hasMore: true, counts });
    expect(requests).toEqual(['/gallery?group=done&limit=100', '/gallery?group=done&limit=50&cursor=100']);
  });

  test('end where the list ends', async () => {
    const { api, jobs, requests } = apiWith(110);
    expect(await readJobs(api, '', 250)).toEqual({ jobs, hasMore: false, counts });
    expect(requests).toHaveLength(2);
  });
});
