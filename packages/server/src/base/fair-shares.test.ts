import { expect, test } from 'vitest';
import { FairShares, QueueFullError } from './fair-shares.js';

/** A signal for each caller, as for each request. */
const never = () => new AbortController().signal;

/** Takes as much as the account may, one by one. */
function takeAll(shares: FairShares, account: string): number {
  let taken = 0;
  for (; shares.mayTake(account); taken++) shares.take(account);
  return taken;
}

test('one account takes at most half, and every other account still finds capacity', () => {
  const slots = new FairShares(8);
  expect(['a', 'b', 'c', 'd'].map((account) => takeAll(slots, account))).toEqual([4, 2, 1, 1]);
  expect(slots.free).toBe(0);
});

test('with `takesAll`, an account takes all that is free, and another one then has the next turn', async () => {
  const places = new FairShares(2, { takesAll: true });
  expect(takeAll(places, 'a')).toBe(2);
  const order: string[] = [];
  const waiting = ['a', 'a', 'b'].map(async (account) => {
    await places.takeWhenAllowed(account, 1, never());
    order.push(account);
    places.giveBack(account);
  });
  places.giveBack('a');
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'b', 'a']);
});

test('returned capacity can be taken again', () => {
  const slots = new FairShares(8);
  takeAll(slots, 'a');
  expect(slots.exhausted()).toEqual(['a']);
  slots.giveBack('a');
  expect(slots.exhausted()).toEqual([]);
  expect(takeAll(slots, 'a')).toBe(1);
});

test('a capacity of one serves accounts one after the other', () => {
  const slots = new FairShares(1);
  expect(takeAll(slots, 'a')).toBe(1);
  expect(slots.mayTake('b')).toBe(false);
  slots.giveBack('a');
  expect(takeAll(slots, 'b')).toBe(1);
});

test('an account waiting for its share does not block another account', async () => {
  const bytes = new FairShares(100);
  await bytes.takeWhenAllowed('a', 50, never());
  const order: string[] = [];
  const more = bytes.takeWhenAllowed('a', 20, never()).then(() => order.push('a'));
  await bytes.takeWhenAllowed('b', 20, never()).then(() => order.push('b'));
  bytes.giveBack('a', 50);
  await more;
  expect(order).toEqual(['b', 'a']);
  expect(bytes.free).toBe(60);
});

test('an aborted wait takes nothing', async () => {
  const bytes = new FairShares(100);
  await bytes.takeWhenAllowed('a', 60, never());
  const abort = new AbortController();
  const waiting = bytes.takeWhenAllowed('b', 60, abort.signal);
  abort.abort(new Error('canceled'));
  await expect(waiting).rejects.toThrow('canceled');
  bytes.giveBack('a', 60);
  expect(bytes.free).toBe(100);
});

test('of two accounts with 1,000 waiting callers each, a third one waits for one of each', async () => {
  const slots = new FairShares(2);
  const served: string[] = [];
  const wait = (account: string) => void slots.takeWhenAllowed(account, 1, never()).then(() => served.push(account));
  slots.take('a');
  slots.take('b');
  for (let index = 0; index < 1_000; index++) for (const account of ['a', 'b']) wait(account);
  wait('c');
  for (let turn = 0; turn < 6; turn++) {
    slots.giveBack('ab'[turn % 2]!);
    await Promise.resolve();
  }
  expect(served.indexOf('c')).toBeLessThanOrEqual(2);
  expect(new Set(served)).toEqual(new Set(['a', 'b', 'c']));
});

test('an account has a limited number of waiting callers, and another account still waits', async () => {
  const slots = new FairShares(1, { maxWaiting: 2 });
  slots.take('a');
  const waiting = [1, 2].map(() => slots.takeWhenAllowed('a', 1, never()));
  await expect(slots.takeWhenAllowed('a', 1, never())).rejects.toThrow(QueueFullError);
  const other = slots.takeWhenAllowed('b', 1, never());
  for (const [account, served] of [
    ['a', waiting[0]],
    ['a', other],
    ['b', waiting[1]],
  ] as const) {
    slots.giveBack(account);
    await served;
  }
});

test('capacity that returns at once serves all that fit', async () => {
  const bytes = new FairShares(100);
  bytes.take('a', 100);
  const waiting = Promise.all([20, 20].map((amount) => bytes.takeWhenAllowed('b', amount, never())));
  bytes.giveBack('a', 100);
  await waiting;
  expect(bytes.heldBy('b')).toBe(40);
});

test('an account takes no more than its maximum, even if more is free', () => {
  expect(takeAll(new FairShares(100, { maxPerAccount: 8 }), 'a')).toBe(8);
});
