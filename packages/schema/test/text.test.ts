import { expect, test } from 'vitest';
import { IdempotencyKey, ImageUrl } from '../src/index.js';
import { cleanLabel } from '../src/label.js';
import { firstCharacters, isStorable, oneLine, quoted } from '../src/text.js';

test('firstCharacters never splits a character', () => {
  expect(firstCharacters('abc', 2)).toBe('ab');
  expect(firstCharacters('💡💡💡', 2)).toBe('💡💡');
  expect(firstCharacters('a💡', 9)).toBe('a💡');
});

test('an error message quotes at most 200 characters', () => {
  expect(quoted('x'.repeat(200))).toBe('x'.repeat(200));
  expect(quoted('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`);
});

test('no database stores an unpaired surrogate or U+0000', () => {
  for (const text of ['', 'é', '💡']) expect(isStorable(text)).toBe(true);
  for (const text of ['\ud800', 'a\udc00', '\udca1\ud83d', 'a\u0000b']) expect(isStorable(text)).toBe(false);
});

test('one line has no control characters, no invisible ones, and at most four marks on a character', () => {
  expect(oneLine(' \u001B]0;a\u0007\r\n\u0085b\tc ')).toBe(']0;a b c');
  expect(oneLine('a\u200B\u200F\u202E\u061C\u00ADb')).toBe('ab');
  expect(oneLine(`e${'\u0301'.repeat(200)}f`)).toBe(`e${'\u0301'.repeat(4)}f`);
});

test('one line keeps the invisible characters that make one emoji of several, and only those', () => {
  for (const emoji of ['👩‍👩‍👧‍👦', '🏃🏽‍♂️', '🏳️‍🌈', '❤️‍🔥', '☕️'])
    expect(oneLine(`my ${emoji}.jpg`)).toBe(`my ${emoji}.jpg`);
  expect(oneLine('a\u200Db \u200D👩\u200D\u200D👧 👩\u202E\u200D👧\u200D')).toBe('ab 👩👧 👩👧');
  expect(cleanLabel(`${'x'.repeat(198)}👩\u200D👧`)).toBe(`${'x'.repeat(198)}👩`);
});

test('an idempotency key may have up to 256 characters, counted as code points', () => {
  for (const key of ['k', 'k'.repeat(256), '💡'.repeat(256)]) expect(IdempotencyKey.safeParse(key).success).toBe(true);
  for (const key of ['', 'k'.repeat(257), '💡'.repeat(257), '\ud800']) {
    expect(IdempotencyKey.safeParse(key).success).toBe(false);
  }
});

test('an image URL may have up to 4,096 bytes, and an error message quotes only its start', () => {
  const url = 'https://example.com/';
  expect(ImageUrl.safeParse(url.padEnd(4_096, 'a')).success).toBe(true);
  for (const long of [url.padEnd(4_097, 'a'), url.padEnd(2_100, 'ü')])
    expect(ImageUrl.safeParse(long).success).toBe(false);
  const { error } = ImageUrl.safeParse(`${'a'.repeat(4_000)}:x`);
  expect(error?.issues[0]?.message).toMatch(/^has the scheme a{200}… but/);
});
