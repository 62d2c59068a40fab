import { randomBytes } from 'node:crypto';

/** version, trace-id, parent-id, trace-flags; versions after 00 may append more. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const isZero = (digits: string) => /^0+$/.test(digits);

/**
 * The trace that a request belongs to, by its `traceparent` header: 32 hexadecimal digits. One that brought none, or none
 * that is valid, begins a trace of its own.
 * @see W3C Trace Context, https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf(header: string | string[] | undefined): string {
  const [, version, traceId, parentId, more] = (typeof header === 'string' && traceparent.exec(header)) || [];
  const known = version !== 'ff' && (version !== '00' || more === undefined);
  if (traceId && parentId && known && !isZero(traceId) && !isZero(parentId)) return traceId;
  return randomBytes(16).toString('hex');
}
