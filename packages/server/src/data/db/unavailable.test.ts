import pino from 'pino';
import { expect, test } from 'vitest';
import { DatabaseUnavailableError, Outage } from './unavailable.js';

function setUp() {
  const logged: Record<string, unknown>[] = [];
  const clock = { now: 0 };
  const log = pino({ base: null, timestamp: false }, { write: (line) => void logged.push(JSON.parse(line)) });
  const outage = new Outage(log, () => clock.now);
  const fail = () => outage.failed(new DatabaseUnavailableError('No connection to PostgreSQL: ECONNREFUSED'));
  return { outage, fail, clock, logged };
}

test('an outage logs a line at its start, and a line with its duration at its end', () => {
  const { outage, fail, clock, logged } = setUp();
  outage.succeeded();
  for (; clock.now < 60_000; clock.now += 250) fail();
  clock.now += 2_000;
  for (let i = 0; i < 10; i++) outage.succeeded();
  expect(logged).toEqual([
    { level: 50, reason: 'No connection to PostgreSQL: ECONNREFUSED', msg: 'the database is unavailable' },
    { level: 40, awaySeconds: 62, msg: 'the database is available again' },
  ]);
  fail();
  expect(logged).toHaveLength(3);
});

test('successes among failures do not end the outage', () => {
  const { outage, fail, clock, logged } = setUp();
  for (; clock.now < 10_000; clock.now += 500) {
    fail();
    outage.succeeded();
  }
  expect(logged).toHaveLength(1);
});
