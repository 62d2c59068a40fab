import { expect, test } from 'vitest';
import { type Place, Places } from './places.js';

const prompt = { succeeded: true, tookMs: 100 };
const dead = { succeeded: false, tookMs: 10_000 };

/** Takes all an account is given, and returns it. */
function takeAll(places: Places, accountId: string, now = 0) {
  const taken: Place[] = [];
  while (places.hasRoom(accountId, now)) taken.push(places.take(accountId, now));
  return taken;
}

const learn = (places: Places, accountId: string, ending: { succeeded: boolean; tookMs: number }) =>
  places.release(places.take(accountId, 0), ending);

test('an account begins with one place, earns up to 8 by succeeding, and has one again after a failure', () => {
  const places = new Places();
  const given: number[] = [];
  for (let i = 0; i < 6; i++) {
    const taken = takeAll(places, 'a');
    given.push(taken.length);
    for (const place of taken) places.release(place);
    learn(places, 'a', prompt);
  }
  expect(given).toEqual([1, 2, 4, 8, 8, 8]);
  learn(places, 'a', { succeeded: false, tookMs: 100 });
  expect(takeAll(places, 'a')).toHaveLength(1);
});

test('however many receivers are dead, one that answers promptly has a place', () => {
  const places = new Places(16);
  learn(places, 'well', prompt);
  const names = Array.from({ length: 100 }, (_, i) => `dead ${i}`);
  // All at once and nobody knows them, then a minute later, when everybody does.
  for (const now of [0, 60_000]) {
    const taken = names.flatMap((name) => takeAll(places, name, now));
    expect(places.hasRoom('well', now)).toBe(true);
    for (const place of taken) places.release(place, dead);
  }
});

test('receivers known to be late hold half of the places, and leave some to accounts that nobody knows yet', () => {
  const places = new Places(16);
  const late = Array.from({ length: 100 }, (_, i) => `late ${i}`);
  for (const name of late) learn(places, name, { succeeded: true, tookMs: 5_000 });
  expect(late.flatMap((name) => takeAll(places, name))).toHaveLength(8);
  const unknown = Array.from({ length: 100 }, (_, i) => `unknown ${i}`);
  expect(unknown.flatMap((name) => takeAll(places, name))).toHaveLength(4);
});

test('who is being waited for is late before the wait is over', () => {
  const places = new Places(16);
  for (let i = 0; i < 4; i++) learn(places, 'a', prompt);
  expect(takeAll(places, 'a')).toHaveLength(8);
  // Eight late ones are half of all: no room for another late one, while a prompt one takes what is left of three quarters.
  places.distrust('b');
  expect(places.hasRoom('b', 1_000)).toBe(true);
  expect(places.hasRoom('b', 3_000)).toBe(false);
  for (let i = 0; i < 4; i++) learn(places, 'c', prompt);
  expect(takeAll(places, 'c', 3_000)).toHaveLength(4);
});

test('prompt receivers with much to tell leave places for the first delivery of others', () => {
  const places = new Places(16);
  for (const name of ['a', 'b', 'c']) for (let i = 0; i < 4; i++) learn(places, name, prompt);
  expect(['a', 'b', 'c'].map((name) => takeAll(places, name).length)).toEqual([8, 4, 1]);
  for (const name of ['d', 'e', 'f']) expect(takeAll(places, name)).toHaveLength(1);
  expect(places.hasRoom('g', 0)).toBe(false);
});

test('a delivery that ended without an answer of the receiver gives its place back and changes nothing else', () => {
  const places = new Places();
  learn(places, 'a', prompt);
  places.release(places.take('a', 0));
  expect(takeAll(places, 'a')).toHaveLength(2);
});
