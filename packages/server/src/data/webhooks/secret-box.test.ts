import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SecretBox } from './secret-box.js';

const box = new SecretBox(randomBytes(32));
const sealed = box.seal('whsec_secret', 'account');

test('a sealed secret opens for its account, and does not contain the secret', () => {
  expect(box.open(sealed, 'account')).toBe('whsec_secret');
  expect(sealed).not.toContain('secret');
  expect(box.seal('whsec_secret', 'account')).not.toBe(sealed);
});

test('a sealed secret does not open for another account, under another key, or after a change', () => {
  expect(() => box.open(sealed, 'somebody else')).toThrow();
  expect(() => new SecretBox(randomBytes(32)).open(sealed, 'account')).toThrow();
  const changed = sealed.slice(0, 10) + (sealed[10] === 'A' ? 'B' : 'A') + sealed.slice(11);
  expect(() => box.open(changed, 'account')).toThrow();
});
