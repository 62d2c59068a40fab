import { jobStatuses, limits, type Task } from '@gen3d/schema';
import { beforeAll, describe, expect, test } from 'vitest';
import { asDataUri, ballPhoto, transparentPhoto } from '../ball-photo.js';
import { site, until } from '../kit.js';
import { type Caller, sharedServer, withImages } from './kit.js';

const rate = 0.25;
/** Enough even for inference that takes minutes. */
const funds = 1_000;
const { newCaller } = sharedServer({
  workers: 1,
  rates: { cpu: rate },
  instance: 'cpu',
  allowPrivateNetwork: true,
});

/** Polls a job until it has finished, without pauses. Returns all responses. */
async function pollUntilFinished({ task }: Caller, id: string): Promise<Task[]> {
  const seen: Task[] = [];
  await until(async () => {
    seen.push(await task(id));
    return seen.at(-1)?.finished_at !== null;
  }, 100_000);
  return seen;
}

const balanceOf = async ({ call }: Caller) =>
  ((await call('GET', '/v1/balance')).body as { balance_usd: number }).balance_usd;

let caller: Caller;
let good: Task[];
let bad: Task[];
let spent: { good: number; bad: number };

beforeAll(async () => {
  caller = await newCaller(funds);
  bad = await pollUntilFinished(caller, await caller.create(withImages(asDataUri(transparentPhoto()))));
  const untouched = await balanceOf(caller);
  good = await pollUntilFinished(
    caller,
    await caller.create({ ...withImages(asDataUri(ballPhoto())), options: { format: 'obj' } }),
  );
  spent = { bad: funds - untouched, good: untouched - (await balanceOf(caller)) };
}, 200_000);

describe('2.1 the task object', () => {
  test('of a new job has every field, null where there is no value yet', async () => {
    // This host never responds.
    const photo = await site(() => {});
    const waiting = await caller.create(withImages(`${photo}/photo.jpg`));
    const { created_at, ...fields } = (await caller.call('GET', `/v1/jobs/${waiting}`)).body as Task;
    expect(created_at).toEqual(expect.any(String));
    expect(fields).toMatchObject({
      task_id: waiting,
      type: 'image-to-3d',
      model_urls: null,
      thumbnail_url: null,
      error: null,
      finished_at: null,
    });
    expect(Object.keys(fields).sort()).toEqual(
      ['error', 'finished_at', 'model_urls', 'progress', 'status', 'task_id', 'thumbnail_url', 'type'].sort(),
    );
  });

  test('of a SUCCEEDED job has a GLB and a JPEG at permanent URLs that need no key', async () => {
    const { model_urls, thumbnail_url } = good.at(-1)!;
    expect(Object.keys(model_urls!)).toEqual(['glb']);
    for (const [url, type, magic] of [
      [model_urls!.glb, 'model/gltf-binary', '676c5446'],
      [thumbnail_url!, 'image/jpeg', 'ffd8ff'],
    ] as const) {
      const response = await fetch(url);
      expect(response.headers.get('content-type')).toBe(type);
      expect(response.headers.get('cache-control')).toContain('immutable');
      expect(Buffer.from(await response.arrayBuffer()).toString('hex')).toMatch(new RegExp(`^${magic}`));
    }
  });

  test('of a FAILED job has error { code, message } and no model URLs', () => {
    expect(bad.at(-1)).toMatchObject({
      error: { code: 'no_foreground', message: expect.any(String) },
      model_urls: null,
      thumbnail_url: null,
    });
    expect(Object.keys(bad.at(-1)!.error!)).toEqual(['code', 'message']);
  });

  test('is the same in the list of jobs', async () => {
    expect((await caller.list('?status=SUCCEEDED')).jobs).toEqual([good.at(-1)]);
  });
});

describe('3 states and transitions', () => {
  test('a job ends SUCCEEDED with progress 100, or FAILED', () => {
    expect(good.at(-1)).toMatchObject({ status: 'SUCCEEDED', progress: 100, error: null });
    expect(bad.at(-1)).toMatchObject({ status: 'FAILED' });
  });

  test('status and progress never go backward', () => {
    for (const seen of [good, bad]) {
      const order = seen.map(({ status }) => jobStatuses.indexOf(status));
      const progress = seen.map((task) => task.progress);
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
    }
  });

  test('each status has its progress: PENDING 0 to 5, QUEUED 25, IN_PROGRESS 30 to 90', () => {
    const range = { PENDING: [0, 5], QUEUED: [25, 25], IN_PROGRESS: [30, 90], SUCCEEDED: [100, 100] } as const;
    for (const { status, progress } of good) {
      const [from, to] = range[status as keyof typeof range];
      expect(progress).toBeGreaterThanOrEqual(from);
      expect(progress).toBeLessThanOrEqual(to);
    }
  });

  test('finished_at is null until a terminal status and set from then on', () => {
    for (const seen of [good, bad]) {
      for (const { status, finished_at } of seen) {
        expect(finished_at !== null).toBe(['SUCCEEDED', 'FAILED', 'CANCELED'].includes(status));
      }
      const { created_at, finished_at } = seen.at(-1)!;
      expect(Date.parse(finished_at!)).toBeGreaterThanOrEqual(Date.parse(created_at));
    }
  });

  test('a finished job does not change, and its response has no Retry-After', async () => {
    const { headers, body } = await caller.call('GET', `/v1/jobs/${good.at(-1)!.task_id}`);
    expect(body).toEqual(good.at(-1));
    expect(headers.get('retry-after')).toBeNull();
  });

  test('a job of another type is accepted and fails during processing with unsupported_type', async () => {
    const seen = await pollUntilFinished(caller, await caller.create({ type: 'text-to-3d', input: { text: 'a mug' } }));
    expect(seen.at(-1)).toMatchObject({
      type: 'image-to-3d',
      status: 'FAILED',
      error: { code: 'unsupported_type' },
    });
  });

  test('options have no effect: a job that asks for another format returns a GLB', () => {
    expect(Object.keys(good.at(-1)!.model_urls!)).toEqual(['glb']);
  });
});

describe('1 charging', () => {
  test('a SUCCEEDED job costs its seconds of inference at the rate of its instance, and a FAILED job is free', () => {
    const { created_at, finished_at } = good.at(-1)!;
    const wholeSeconds = (Date.parse(finished_at!) - Date.parse(created_at)) / 1_000;
    expect(spent.bad).toBe(0);
    expect(spent.good).toBeGreaterThan(0);
    expect(spent.good).toBeLessThanOrEqual(wholeSeconds * rate + 1e-6);
  });
});

describe('8 remote images', { tags: 'slow' }, () => {
  const remote = async (size: number) => {
    const photo = Buffer.alloc(size);
    ballPhoto(96).copy(photo);
    const url = await site((_request, response) => response.end(photo));
    return (await pollUntilFinished(caller, await caller.create(withImages(`${url}/ball.png`)))).at(-1)!;
  };

  test('an image of exactly 25 MiB is accepted', async () => {
    expect(limits.remoteImageBytes).toBe(25 * 1024 * 1024);
    expect(await remote(limits.remoteImageBytes)).toMatchObject({ status: 'SUCCEEDED' });
  });

  test('an image of one byte more than 25 MiB fails with image_too_large', async () => {
    expect(await remote(limits.remoteImageBytes + 1)).toMatchObject({
      status: 'FAILED',
      error: { code: 'image_too_large' },
    });
  });
});
