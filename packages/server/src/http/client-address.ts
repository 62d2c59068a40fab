import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../net/address.js';

/**
 * Whom a request comes from, for limits per caller: an IPv4 address, or the first 64 bits of an IPv6 address, of which one
 * subscriber has all the rest.
 *
 * A connection from a private address may be a proxy's. Then it is the last entry of X-Forwarded-For, which the proxy
 * itself has added; the entries before that are the client's own words. A neighbor in a private network can make up this
 * header, so a limit per caller needs another one for all callers together.
 */
export function clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
  const peer = socket.remoteAddress ?? '';
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  const address = forwarded && ipaddr.isValid(forwarded) && !isPublicAddress(peer) ? forwarded : peer;
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${parsed.toByteArray().slice(0, 8).join(':')}/64`;
}
