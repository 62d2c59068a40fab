import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { sign } from './post-event.js';

test('the signature is sha256= and the hexadecimal HMAC-SHA256 of timestamp, dot and raw body', () => {
  const timestamp = '2026-01-02T03:04:05.678Z';
  const body = Buffer.from('{"event":"ping","text":"\u00fc"}');
  const expected = createHmac('sha256', 'whsec_x')
    .update(Buffer.concat([Buffer.from(`${timestamp}.`), body]))
    .digest('hex');
  expect(sign('whsec_x', timestamp, body)).toBe(`sha256=${expected}`);
});
