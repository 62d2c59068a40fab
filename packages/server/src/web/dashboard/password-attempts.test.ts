import { expect, test } from 'vitest';
import { PasswordAttempts } from './password-attempts.js';

/** How many of `tries` attempts are allowed. */
const allowed = (attempts: PasswordAttempts, caller: string, now: number, tries: number) =>
  Array.from({ length: tries }, () => attempts.take(caller, 'internet', now)).filter((wait) => wait === 0).length;

test('one caller that keeps guessing does not lock out another', () => {
  const attempts = new PasswordAttempts();
  expect(allowed(attempts, 'stranger', 0, 1_000)).toBe(5);
  expect(attempts.take('stranger', 'internet', 0)).toBeGreaterThan(25);
  expect(attempts.take('operator', 'internet', 0)).toBe(0);
  for (let minute = 1; minute <= 10; minute++) {
    expect(allowed(attempts, 'stranger', minute * 60_000, 100)).toBe(2);
    expect(attempts.take('operator', 'internet', minute * 60_000)).toBe(0);
  }
});

test('all callers of an origin together are limited, except those that have sent the correct password before', () => {
  const attempts = new PasswordAttempts();
  attempts.noteSuccess('operator');
  const strangers = Array.from({ length: 50_000 }, (_, index) => attempts.take(`stranger ${index}`, 'internet', 0));
  expect(strangers.filter((wait) => wait === 0)).toHaveLength(20);
  expect(attempts.take('operator', 'internet', 0)).toBe(0);
  // Has never sent the password, but does not come through the proxy of the strangers.
  expect(attempts.take('another operator', 'internet', 0)).toBeGreaterThan(0);
  expect(attempts.take('another operator', '127.0.0.1', 0)).toBe(0);
});
