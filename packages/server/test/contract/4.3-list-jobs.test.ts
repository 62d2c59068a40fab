import { JobStatus } from '@gen3d/schema';
import { describe, expect, test } from 'vitest';
import { type Caller, refused, sharedServer } from './kit.js';

const { admin, newCaller } = sharedServer();

async function withJobs(count: number): Promise<Caller & { ids: string[] }> {
  const caller = await newCaller();
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.unshift(await caller.create());
  return { ...caller, ids };
}

const idsOf = ({ jobs }: { jobs: { task_id: string }[] }) => jobs.map(({ task_id }) => task_id);

/** The ids of all pages. Calls `between` after each page. */
async function allPages({ list }: Caller, query: string, between: () => Promise<unknown> = async () => {}) {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor === undefined ? query : `${query}&cursor=${cursor}`);
    seen.push(...idsOf(page));
    cursor = page.next_cursor;
    await between();
  } while (cursor !== undefined);
  return seen;
}

describe('4.3 GET /v1/jobs', () => {
  test('returns the jobs as task objects, newest first', async () => {
    const { ids, list, task } = await withJobs(3);
    const page = await list();
    expect(idsOf(page)).toEqual(ids);
    expect(page.jobs[0]).toEqual(await task(ids[0]!));
  });

  test('returns an empty list without a cursor if there are no jobs', async () => {
    expect((await (await newCaller()).call('GET', '/v1/jobs')).body).toEqual({ jobs: [] });
  });

  test('returns only jobs of the account', async () => {
    await withJobs(1);
    expect((await (await newCaller()).list()).jobs).toEqual([]);
  });

  test('limit can be 1 to 100 and is 20 by default', async () => {
    const { ids, list } = await withJobs(101);
    expect(idsOf(await list())).toEqual(ids.slice(0, 20));
    expect(idsOf(await list('?limit=1'))).toEqual(ids.slice(0, 1));
    expect(idsOf(await list('?limit=100'))).toEqual(ids.slice(0, 100));
  });

  test.each(['0', '101', '-1', '1.5', 'ten', '', '1e1', '99999999999999999999'])(
    'a limit of %j is 400 invalid_request',
    async (limit) => {
      const response = await (await newCaller()).call('GET', `/v1/jobs?limit=${limit}`);
      expect(refused(response, 400, 'invalid_request')).toBe('limit: must be a whole number from 1 to 100');
    },
  );

  test('status returns only jobs with that status, for each of the six', async () => {
    const { ids, list } = await withJobs(2);
    await admin().cancelJob(ids[1]!);
    for (const status of JobStatus.options) {
      const expected = { PENDING: [ids[0]], CANCELED: [ids[1]] }[status as string] ?? [];
      expect(idsOf(await list(`?status=${status}`))).toEqual(expected);
    }
  });

  test.each(['status=DONE', 'status=', 'status=pending', 'status=PENDING&status=FAILED'])(
    'any other status is 400, and the message names it: %s',
    async (query) => {
      const response = await (await newCaller()).call('GET', `/v1/jobs?${query}`);
      expect(refused(response, 400, 'invalid_request')).toBe(
        'status: must be one of PENDING, QUEUED, IN_PROGRESS, SUCCEEDED, FAILED, CANCELED',
      );
    },
  );

  test('next_cursor leads to the next page and is absent on the last', async () => {
    const caller = await withJobs(4);
    const first = await caller.list('?limit=2');
    expect(first.next_cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    const { body } = await caller.call('GET', `/v1/jobs?limit=2&cursor=${first.next_cursor}`);
    expect(Object.keys(body as object)).toEqual(['jobs']); // the last page, exactly full
    expect(await allPages(caller, '?limit=3')).toEqual(caller.ids);
  });

  test('pages neither repeat nor skip a job while new ones are created', async () => {
    const caller = await withJobs(25);
    expect(await allPages(caller, '?limit=10', caller.create)).toEqual(caller.ids);
    expect((await caller.list('?limit=100')).jobs).toHaveLength(28);
  });

  test('pages of one status neither repeat nor skip a job while others change their status', async () => {
    const caller = await withJobs(9);
    const waiting = [...caller.ids];
    const seen = await allPages(caller, '?limit=3&status=PENDING', () => admin().cancelJob(waiting.shift()!));
    expect(seen).toEqual(caller.ids);
  });

  test('a cursor that the service did not issue is 400 invalid_cursor', async () => {
    const { call, list } = await withJobs(2);
    const { next_cursor: cursor = '' } = await list('?limit=1');
    const changed = (cursor[0] === 'A' ? 'B' : 'A') + cursor.slice(1);
    for (const token of [
      '',
      'abc',
      '%00',
      changed,
      cursor.slice(1),
      `${cursor}A`,
      `${cursor}=`,
      `${cursor}&cursor=a`,
    ]) {
      refused(await call('GET', `/v1/jobs?cursor=${token}`), 400, 'invalid_cursor');
    }
  });

  test('a cursor of another account is 400 invalid_cursor', async () => {
    const { next_cursor } = await (await withJobs(2)).list('?limit=1');
    const other = await withJobs(2);
    refused(await other.call('GET', `/v1/jobs?cursor=${next_cursor}`), 400, 'invalid_cursor');
  });
});
