import type { GalleryJob, GalleryPage } from '@gen3d/schema/dashboard';
import { describe, expect, test } from 'vitest';
import { groupOf, merged } from './use-gallery.js';

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
  counts: { in_progress: 0, done: 0, failed: 0, hidden: 0 },
});
const idsOf = ({ jobs }: { jobs: readonly GalleryJob[] }) => jobs.map(({ task_id }) => task_id).join('');

const updatesOf = (...jobs: GalleryJob[]) => new Map(jobs.map((job) => [job.task_id, job]));

describe('a first page that was read again', () => {
  test('keeps the pages below it, and where they end', () => {
    const state = merged(loaded('DCBA', 'after A'), page('DC', 'after C'), new Map(), 'q', undefined);
    expect([idsOf(state), state.cursor, state.counts]).toEqual(['DCBA', 'after A', counts]);
  });

  test('puts a new job first, without repeating the one that it moves to the next page', () => {
    const state = merged(loaded('DCBA', 'after A'), page('ED', 'after D'), new Map(), 'q', undefined);
    expect([idsOf(state), state.cursor]).toEqual(['EDCBA', 'after A']);
  });

  test('replaces everything if it is the only page, if nothing was loaded, or if it shares no job with what was', () => {
    expect(idsOf(merged(loaded('DCBA', 'after A'), page('DC'), new Map(), 'q', undefined))).toBe('DC');
    expect(idsOf(merged(undefined, page('DC', 'after C'), new Map(), 'q', undefined))).toBe('DC');
    const state = merged(loaded('BA', 'after A'), page('DC', 'after C'), new Map(), 'q', undefined);
    expect([idsOf(state), state.cursor]).toEqual(['DC', 'after C']);
  });

  test('takes over updates of jobs below it, and drops those that have left the group', () => {
    const updates = updatesOf(job('B', { status: 'SUCCEEDED' }), job('A', { progress: 60, status: 'IN_PROGRESS' }));
    const all = merged(loaded('DCBA', 'after A'), page('DC', 'after C'), updates, 'q', undefined);
    expect(all.jobs.map(({ status }) => status)).toEqual(['QUEUED', 'QUEUED', 'SUCCEEDED', 'IN_PROGRESS']);
    const open = merged(loaded('DCBA', 'after A'), page('DC', 'after C'), updates, 'q', 'in_progress');
    expect(idsOf(open)).toBe('DCA');
  });

  test('drops deleted jobs below it', () => {
    const updates = new Map([['B', undefined]]);
    expect(idsOf(merged(loaded('DCBA', 'after A'), page('DC', 'after C'), updates, 'q', undefined))).toBe('DCA');
  });

  test('continues after itself if no job is left below it', () => {
    const updates = updatesOf(job('A', { status: 'FAILED' }));
    const state = merged(loaded('BA', 'after A'), page('B', 'after B'), updates, 'q', 'in_progress');
    expect([idsOf(state), state.cursor]).toEqual(['B', 'after B']);
  });
});

test.each([
  ['PENDING', 'in_progress'],
  ['QUEUED', 'in_progress'],
  ['IN_PROGRESS', 'in_progress'],
  ['SUCCEEDED', 'done'],
  ['FAILED', 'failed'],
  ['CANCELED', 'failed'],
] as const)('a job that is %s is in the group %s', (status, group) => {
  expect(groupOf(job('A', { status }))).toBe(group);
});
