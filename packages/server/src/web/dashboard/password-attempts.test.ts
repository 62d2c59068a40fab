import { expect, test } from 'vitest';
import { PasswordAttempts } from './password-attempts.js';

/** How many of `tries` attempts are allowed. */
const allowed = (attempts: PasswordAttempts, caller: string, now: number, tries: number) =>
  Array.from({ length: tries }, () => attempts.take(caller, now)).filter((wait) => wait === 0).length;

test('one caller that keeps guessing does not lock out another', () => {
  const attempts = new PasswordAttempts(0);
  expect(allowed(attempts, 'stranger', 0, 1_000)).toBe(5);
  expect(attempts.take('stranger', 0)).toBeGreaterThan(25);
  expect(attempts.take('operator', 0)).toBe(0);
  for (let minute = 1; minute <= 10; minute++) {
    expect(allowed(attempts, 'stranger', minute * 60_000, 100)).toBe(2);
    expect(attempts.take('operator', minute * 60_000)).toBe(0);
  }
});

test('all callers together are limited, except those that have sent the correct password before', () => {
  const attempts = new PasswordAttempts(0);
  attempts.noteSuccess('operator');
  const strangers = Array.from({ length: 50_000 }, (_, index) => attempts.take(`stranger ${index}`, 0));
  expect(strangers.filter((wait) => wait === 0)).toHaveLength(20);
  expect(attempts.take('operator', 0)).toBe(0);
});
