import { expect, test } from 'vitest';
import { FairShares } from './fair-shares.js';

const never = new AbortController().signal;

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
  await bytes.takeWhenAllowed('a', 50, never);
  const order: string[] = [];
  const more = bytes.takeWhenAllowed('a', 20, never).then(() => order.push('a'));
  await bytes.takeWhenAllowed('b', 20, never).then(() => order.push('b'));
  bytes.giveBack('a', 50);
  await more;
  expect(order).toEqual(['b', 'a']);
  expect(bytes.free).toBe(60);
});

test('an aborted wait takes nothing', async () => {
  const bytes = new FairShares(100);
  await bytes.takeWhenAllowed('a', 60, never);
  const abort = new AbortController();
  const waiting = bytes.takeWhenAllowed('b', 60, abort.signal);
  abort.abort(new Error('canceled'));
  await expect(waiting).rejects.toThrow('canceled');
  bytes.giveBack('a', 60);
  expect(bytes.free).toBe(100);
});
