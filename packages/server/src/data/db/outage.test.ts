import pino from 'pino';
import { expect, test } from 'vitest';
import { Outage } from './outage.js';
import { DatabaseUnavailableError } from './unavailable.js';

function setUp() {
  const logged: Record<string, unknown>[] = [];
  const clock = { now: 0 };
  const log = pino({ base: null, timestamp: false }, { write: (line) => void logged.push(JSON.parse(line)) });
  const outage = new Outage(log, () => clock.now);
  const fail = () => outage.failed(new DatabaseUnavailableError('No connection to PostgreSQL: ECONNREFUSED'));
  return { outage, fail, clock, logged };
}

test('an outage is a line at its beginning and a line with its length at its end', () => {
  const { outage, fail, clock, logged } = setUp();
  outage.answered();
  for (; clock.now < 60_000; clock.now += 250) fail();
  clock.now += 2_000;
  for (let i = 0; i < 10; i++) outage.answered();
  expect(logged).toEqual([
    { level: 50, reason: 'No connection to PostgreSQL: ECONNREFUSED', msg: 'the database is away' },
    { level: 40, awaySeconds: 62, msg: 'the database is back' },
  ]);
  fail();
  expect(logged).toHaveLength(3);
});

test('answers among failures do not end it', () => {
  const { outage, fail, clock, logged } = setUp();
  for (; clock.now < 10_000; clock.now += 500) {
    fail();
    outage.answered();
  }
  expect(logged).toHaveLength(1);
});
