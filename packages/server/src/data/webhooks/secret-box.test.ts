import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { KeyRing } from '../../base/key-ring.js';
import { SecretBox } from './secret-box.js';

const box = new SecretBox(new KeyRing([randomBytes(32)]));
const sealed = await box.seal('whsec_secret', 'account');

test('a sealed secret opens for its account, and does not contain the secret', async () => {
  expect(await box.open(sealed, 'account')).toBe('whsec_secret');
  expect(sealed).not.toContain('secret');
  expect(await box.seal('whsec_secret', 'account')).not.toBe(sealed);
});

test('a sealed secret does not open for another account, under another key, or after a change', async () => {
  await expect(box.open(sealed, 'somebody else')).rejects.toThrow();
  await expect(new SecretBox(new KeyRing([randomBytes(32)])).open(sealed, 'account')).rejects.toThrow();
  const changed = sealed.slice(0, 10) + (sealed[10] === 'A' ? 'B' : 'A') + sealed.slice(11);
  await expect(box.open(changed, 'account')).rejects.toThrow();
});
