import { createHmac } from 'node:crypto';

/**
 * The signature of a delivery (docs/contract.md section 6.3): `sha256=` and the hexadecimal HMAC-SHA256, keyed with the
 * account's secret, over the timestamp header, a dot and the body's bytes as they are sent.
 */
export function sign(secret: string, timestamp: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;
}
