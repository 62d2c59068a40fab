import { expect, test } from 'vitest';
import { DeliverySlots, type Outcome, type Slot } from './delivery-slots.js';

const prompt = { succeeded: true, tookMs: 100 };
const dead = { succeeded: false, tookMs: 10_000 };

/** Takes every slot that the account may have. */
function takeAll(slots: DeliverySlots, accountId: string, now = 0): Slot[] {
  const taken: Slot[] = [];
  while (slots.isAvailable(accountId, now)) taken.push(slots.take(accountId, now));
  return taken;
}

const deliver = (slots: DeliverySlots, accountId: string, outcome: Outcome) =>
  slots.release(slots.take(accountId, 0), outcome);

test('an account starts with one slot, gets up to 8 by succeeding, and has one again after a failure', () => {
  const slots = new DeliverySlots();
  const counts: number[] = [];
  for (let i = 0; i < 6; i++) {
    const taken = takeAll(slots, 'a');
    counts.push(taken.length);
    for (const slot of taken) slots.release(slot);
    deliver(slots, 'a', prompt);
  }
  expect(counts).toEqual([1, 2, 4, 8, 8, 8]);
  deliver(slots, 'a', { succeeded: false, tookMs: 100 });
  expect(takeAll(slots, 'a')).toHaveLength(1);
});

test('a prompt receiver has a slot, no matter how many receivers are dead', () => {
  const slots = new DeliverySlots(16);
  deliver(slots, 'prompt', prompt);
  const names = Array.from({ length: 100 }, (_, i) => `dead ${i}`);
  // First all at the same time while their speed is unknown, then a minute later, when they are known to be late.
  for (const now of [0, 60_000]) {
    const taken = names.flatMap((name) => takeAll(slots, name, now));
    expect(slots.isAvailable('prompt', now)).toBe(true);
    for (const slot of taken) slots.release(slot, dead);
  }
});

test('late receivers hold half of the slots at most, and leave some to accounts of unknown speed', () => {
  const slots = new DeliverySlots(16);
  const late = Array.from({ length: 100 }, (_, i) => `late ${i}`);
  for (const name of late) deliver(slots, name, { succeeded: true, tookMs: 5_000 });
  expect(late.flatMap((name) => takeAll(slots, name))).toHaveLength(8);
  const unknown = Array.from({ length: 100 }, (_, i) => `unknown ${i}`);
  expect(unknown.flatMap((name) => takeAll(slots, name))).toHaveLength(4);
});

test('a receiver counts as late while it keeps a delivery waiting', () => {
  const slots = new DeliverySlots(16);
  for (let i = 0; i < 4; i++) deliver(slots, 'a', prompt);
  expect(takeAll(slots, 'a')).toHaveLength(8);
  // Once those eight are late, they are half of all slots: another late account gets none, and a prompt one gets the
  // rest of three quarters.
  slots.assumeLate('b');
  expect(slots.isAvailable('b', 1_000)).toBe(true);
  expect(slots.isAvailable('b', 3_000)).toBe(false);
  for (let i = 0; i < 4; i++) deliver(slots, 'c', prompt);
  expect(takeAll(slots, 'c', 3_000)).toHaveLength(4);
});

test('prompt receivers with many events leave slots for the first delivery of others', () => {
  const slots = new DeliverySlots(16);
  for (const name of ['a', 'b', 'c']) for (let i = 0; i < 4; i++) deliver(slots, name, prompt);
  expect(['a', 'b', 'c'].map((name) => takeAll(slots, name).length)).toEqual([8, 4, 1]);
  for (const name of ['d', 'e', 'f']) expect(takeAll(slots, name)).toHaveLength(1);
  expect(slots.isAvailable('g', 0)).toBe(false);
});

test('a delivery without an outcome frees its slot and changes nothing else', () => {
  const slots = new DeliverySlots();
  deliver(slots, 'a', prompt);
  slots.release(slots.take('a', 0));
  expect(takeAll(slots, 'a')).toHaveLength(2);
});
