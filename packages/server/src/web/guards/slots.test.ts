import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Response } from 'express';
import { expect, test } from 'vitest';
import { ConcurrencyMeter } from '../../../test/kit.js';
import { Slots } from './slots.js';

/** An open response. */
const response = () => Object.assign(new EventEmitter(), { closed: false }) as unknown as Response & EventEmitter;

test('with two slots, an account has one and waits for it, and another account does not wait', async () => {
  const slots = new Slots(2);
  const [ofA, ofAll] = [new ConcurrencyMeter(), new ConcurrencyMeter()];
  const ended: string[] = [];
  const work = (account: string) =>
    slots.run(account, response(), async () => {
      ofAll.begin();
      if (account === 'a') ofA.begin();
      await nextTurn();
      if (account === 'a') ofA.end();
      ofAll.end();
      ended.push(account);
    });
  await Promise.all([...Array.from({ length: 20 }, () => work('a')), work('b')]);
  expect(ofA.max).toBe(1);
  expect(ofAll.max).toBe(2);
  expect(ended.indexOf('b')).toBeLessThan(2);
});

test('work that blocks the event loop leaves half of it to others, however many accounts have work', async () => {
  const slots = new Slots(2, { rest: 3 });
  const blockMs = 20;
  const block = async () => {
    const endsAt = performance.now() + blockMs;
    while (performance.now() < endsAt);
  };
  const accounts = ['a', 'b', 'c', 'a', 'b', 'c'];
  const startedAt = performance.now();
  await Promise.all(accounts.map((account) => slots.run(account, response(), block)));
  // No work waits for the rest of the last two slots.
  expect(performance.now() - startedAt).toBeGreaterThan(2 * blockMs * (accounts.length - 2));
});

test('without a rest, the next work begins after one turn of the event loop', async () => {
  const slots = new Slots(2);
  let turns = 0;
  let counter = setImmediate(function count() {
    turns += 1;
    counter = setImmediate(count);
  });
  const works = Array.from({ length: 50 }, () => slots.run('a', response(), async () => {}));
  await Promise.all(works);
  clearImmediate(counter);
  expect(turns).toBeGreaterThanOrEqual(works.length - 1);
  expect(turns).toBeLessThan(3 * works.length);
});

test('a client that disconnects while it waits gives its place to the next one', async () => {
  const slots = new Slots(2);
  let release = () => {};
  const first = slots.run('a', response(), () => new Promise<void>((resolve) => (release = resolve)));
  const gone = response();
  const waiting = slots.run('a', gone, async () => 'done');
  const last = slots.run('a', response(), async () => 'done');
  gone.emit('close');
  await expect(waiting).rejects.toThrow('the connection closed');
  release();
  await first;
  expect(await last).toBe('done');
  await expect(slots.run('a', Object.assign(response(), { closed: true }), async () => 'done')).rejects.toThrow();
});

test('work that fails gives its slot back', async () => {
  const slots = new Slots(2);
  await expect(slots.run('a', response(), () => Promise.reject(new Error('failed')))).rejects.toThrow();
  expect(await slots.run('a', response(), async () => 'done')).toBe('done');
});

test('however many accounts read slowly, another one gets a slot as soon as one of them is too slow', async () => {
  const slots = new Slots(4, { maxMs: 20 });
  const read = (account: string, client: Response & EventEmitter) => {
    const closed = new Promise<void>((resolve) => client.once('close', resolve));
    Object.assign(client, { destroy: () => client.emit('close') });
    return slots.run(account, client, () => closed);
  };
  const slow = ['a', 'a', 'b', 'c'].map((account) => read(account, response()));
  expect(await slots.run('d', response(), async () => 'done')).toBe('done');
  // That of the account that held most.
  await slow[0];
});
