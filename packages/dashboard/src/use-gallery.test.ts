import type { GalleryJob, GalleryPage } from '@gen3d/schema/dashboard';
import { describe, expect, test } from 'vitest';
import { merged } from './use-gallery.js';

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
const page = (ids: string, next_cursor?: string): GalleryPage => ({
  jobs: ids.split('').map((id) => job(id)),
  counts,
  ...(next_cursor !== undefined && { next_cursor }),
});
const loaded = (ids: string, cursor?: string) => ({
  query: 'q',
  jobs: page(ids).jobs,
  cursor,
  counts: { in_progress: 0, done: 0, failed: 0 },
});
const idsOf = ({ jobs }: { jobs: readonly GalleryJob[] }) => jobs.map(({ task_id }) => task_id).join('');

describe('the first jobs, read again,', () => {
  test('keep the pages below them, and where these end', () => {
    const state = merged(loaded('DCBA', 'after A'), page('DC', 'after C'), 'q');
    expect([idsOf(state), state.cursor, state.counts]).toEqual(['DCBA', 'after A', counts]);
  });

  test('begin with a new job, without repeating the one that it moves down', () => {
    const state = merged(loaded('DCBA', 'after A'), page('ED', 'after D'), 'q');
    expect([idsOf(state), state.cursor]).toEqual(['EDCBA', 'after A']);
  });

  test('replace everything if there are no others, if nothing was loaded, or if they share no job with what was', () => {
    expect(idsOf(merged(loaded('DCBA', 'after A'), page('DC'), 'q'))).toBe('DC');
    expect(idsOf(merged(undefined, page('DC', 'after C'), 'q'))).toBe('DC');
    const state = merged(loaded('BA', 'after A'), page('DC', 'after C'), 'q');
    expect([idsOf(state), state.cursor]).toEqual(['DC', 'after C']);
  });

  test('continue after themselves if no job is left below them', () => {
    const state = merged(loaded('BA', 'after A'), page('BA', 'still after A'), 'q');
    expect([idsOf(state), state.cursor]).toEqual(['BA', 'still after A']);
  });
});
