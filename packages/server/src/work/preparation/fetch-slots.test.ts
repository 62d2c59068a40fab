import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { everyAccount } from '../../data/jobs/claim.js';
import { FetchSlots } from './fetch-slots.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Fetches as much as four accounts may: 4, 2, 1 and 1 images. */
function fourAccounts() {
  const slots = new FetchSlots(8);
  const gaveWay: string[] = [];
  const start = (account: string) => slots.start(account, () => gaveWay.push(account));
  const fetches = [...'aaaabbcd'].map(start);
  return { slots, gaveWay, start, fetches };
}

test('when all slots are taken, the slow fetch of the account that holds most gives way to an account without one', () => {
  const { slots, gaveWay, start } = fourAccounts();
  expect(slots.exhausted).toBe(everyAccount);
  vi.advanceTimersByTime(5_001);
  expect(new Set(slots.exhausted as string[])).toEqual(new Set('abcd'));
  start('e');
  expect(gaveWay).toEqual(['a']);
  start('f');
  expect(gaveWay).toEqual(['a', 'a']);
});

test('a fetch gives way if its host sends a few bytes at a time, and not if it sends 64 KiB in 5 s', () => {
  const { slots, gaveWay, start, fetches } = fourAccounts();
  for (let second = 0; second < 6; second++) {
    vi.advanceTimersByTime(1_000);
    for (const fetch of fetches) fetch.received(fetch.account === 'd' ? 1_024 : 16 * 1024);
  }
  expect(slots.exhausted).not.toBe(everyAccount);
  start('e');
  expect(gaveWay).toEqual(['d']);
  expect(slots.exhausted).toBe(everyAccount);
});

test('an image that has arrived does not give way', () => {
  const { slots, fetches } = fourAccounts();
  for (const fetch of fetches) fetch.complete();
  vi.advanceTimersByTime(60_000);
  expect(slots.exhausted).toBe(everyAccount);
});

test('when no memory is left, as many slow fetches give way as the next image needs', () => {
  const slots = new FetchSlots(64);
  const gaveWay: string[] = [];
  const start = (account: string) => slots.start(account, () => gaveWay.push(account));
  const fetches = [...'aaaabbcd'].map(start);
  expect(slots.exhausted).toBe(everyAccount);
  // 8 MiB each: the rest of the memory is free again, and others fill it.
  for (const fetch of fetches) slots.announced(fetch, 8 * 1024 ** 2);
  for (const account of 'efghi') start(account);
  vi.advanceTimersByTime(5_001);
  start('z');
  expect(gaveWay).toEqual(['a', 'a']);
});
