import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Share, Shares, type Work } from './shares.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** A signal for each caller, as for each request. */
const never = () => new AbortController().signal;

/** Takes as much as the holder may, one by one. */
function takeAll(shares: Shares, holder: string, work?: Work): Share[] {
  const taken: Share[] = [];
  for (let share = shares.take(holder, 1, work); share; share = shares.take(holder, 1, work)) taken.push(share);
  return taken;
}

test('one holder takes at most half, and every other one still finds capacity', () => {
  const shares = new Shares({ total: 8 });
  expect(['a', 'b', 'c', 'd', 'e'].map((holder) => takeAll(shares, holder).length)).toEqual([4, 2, 1, 1, 0]);
});

test('a holder takes no more than its maximum, even if more is free', () => {
  expect(takeAll(new Shares({ total: 100, perHolder: 8 }), 'a')).toHaveLength(8);
});

test('a share that is returned can be taken again, and is returned once', () => {
  const shares = new Shares({ total: 8 });
  const [first] = takeAll(shares, 'a');
  first!.end();
  first!.end();
  expect(shares.free).toBe(5);
  expect(takeAll(shares, 'a')).toHaveLength(1);
});

test('a share grows and shrinks by the same rule', () => {
  const bytes = new Shares({ total: 100 });
  const share = bytes.take('a', 20)!;
  expect(share.resize(50)).toBe(true);
  expect(share.resize(51)).toBe(false);
  expect([share.amount, bytes.free]).toEqual([50, 50]);
  expect(share.resize(10)).toBe(true);
  share.end();
  expect(share.resize(90)).toBe(true);
  expect(bytes.free).toBe(100);
});

test('where everything is guaranteed, a holder takes all that is free, and the next turn is that of another', async () => {
  const shares = new Shares({ total: 2, guaranteed: 2 });
  const [first] = takeAll(shares, 'a');
  const order: string[] = [];
  const waiting = ['a', 'a', 'b'].map(async (holder) => {
    const share = await shares.wait(holder, never());
    order.push(holder);
    share.end();
  });
  first!.end();
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'b', 'a']);
});

test('a holder that waits for more does not block another one', async () => {
  const shares = new Shares({ total: 2 });
  const first = await shares.wait('a', never());
  const order: string[] = [];
  const more = shares.wait('a', never()).then(() => order.push('a'));
  await shares.wait('b', never()).then(() => order.push('b'));
  first.end();
  await more;
  expect(order).toEqual(['b', 'a']);
});

test('of two holders with 1,000 waiting callers each, a third one waits for one of each', async () => {
  const shares = new Shares({ total: 2, perHolder: 1 });
  const served: string[] = [];
  const wait = (holder: string) =>
    void shares.wait(holder, never()).then((share) => {
      served.push(holder);
      setImmediate(() => share.end());
    });
  for (let index = 0; index < 1_000; index++) for (const holder of ['a', 'b']) wait(holder);
  wait('c');
  while (!served.includes('c')) await new Promise(setImmediate);
  expect(served.indexOf('c')).toBeLessThanOrEqual(4);
});

test('an aborted wait takes nothing', async () => {
  const shares = new Shares({ total: 1 });
  const first = shares.take('a')!;
  const abort = new AbortController();
  const waiting = shares.wait('b', abort.signal);
  abort.abort(new Error('canceled'));
  await expect(waiting).rejects.toThrow('canceled');
  await expect(shares.wait('b', abort.signal)).rejects.toThrow('canceled');
  first.end();
  expect(shares.free).toBe(1);
});

/** Takes as much as four holders may: 4, 2, 1 and 1. */
function fourHolders(progress?: (holder: string) => number) {
  const shares = new Shares({ total: 8, giveWayAfterMs: 5_000 });
  const gaveWay: string[] = [];
  const workOf = (holder: string): Work => ({
    giveWay: () => gaveWay.push(holder),
    ...(progress && { progress: () => progress(holder) }),
  });
  const taken = [...'abcd'].flatMap((holder) => takeAll(shares, holder, workOf(holder)));
  return { shares, gaveWay, taken };
}

test('when all is taken, the slow work of the holder with the most gives way to a holder that has nothing', () => {
  const { shares, gaveWay } = fourHolders();
  expect(shares.mayTake('e')).toBe(false);
  vi.advanceTimersByTime(5_001);
  expect([...'abcd'].filter((holder) => shares.mayTake(holder))).toEqual([]);
  expect(shares.take('e')).toBeDefined();
  expect(gaveWay).toEqual(['a']);
  expect(shares.take('f')).toBeDefined();
  expect(gaveWay).toEqual(['a', 'a']);
  expect([shares.free, shares.heldBy('a')]).toEqual([0, 2]);
});

test('as much gives way as is needed', () => {
  const { shares, gaveWay } = fourHolders();
  vi.advanceTimersByTime(5_001);
  expect(shares.take('e', 3)).toBeDefined();
  expect(gaveWay).toEqual(['a', 'a', 'a']);
  expect(shares.take('f', 9)).toBeUndefined();
});

test('work that sends or receives 64 KiB in that time does not give way', () => {
  let seconds = 0;
  const { shares, gaveWay } = fourHolders((holder) => seconds * (holder === 'd' ? 1_024 : 16 * 1_024));
  for (; seconds < 6; seconds++) {
    vi.advanceTimersByTime(1_000);
    if (seconds < 5) expect(shares.mayTake('e')).toBe(false);
  }
  expect(shares.take('e')).toBeDefined();
  expect(gaveWay).toEqual(['d']);
  expect(shares.mayTake('f')).toBe(false);
});

test('work that is kept does not give way, and work that begins again gets its time again', () => {
  const { shares, taken } = fourHolders();
  for (const share of taken) share.isKept = true;
  vi.advanceTimersByTime(60_000);
  expect(shares.mayTake('e')).toBe(false);
  for (const share of taken) {
    share.isKept = false;
    share.restart();
  }
  expect(shares.mayTake('e')).toBe(false);
  vi.advanceTimersByTime(5_001);
  expect(shares.mayTake('e')).toBe(true);
});

test('a caller that waits gets the share of slow work within a second', async () => {
  const { shares, gaveWay } = fourHolders();
  const waiting = shares.wait('e', never());
  await vi.advanceTimersByTimeAsync(6_000);
  await waiting;
  expect(gaveWay).toEqual(['a']);
});

test('a holder of less than the guaranteed share takes a place of many that hold one each', () => {
  const shares = new Shares({ total: 64, giveWayAfterMs: 1_000 });
  for (let index = 0; index < 64; index++) expect(shares.take(`${index}`, 1, { giveWay() {} })).toBeDefined();
  vi.advanceTimersByTime(1_001);
  expect(takeAll(shares, 'newcomer')).toHaveLength(8);
});
