import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../base/net/address.js';

/**
 * The caller of a request, for limits per caller: an IPv4 address, or the first 64 bits of an IPv6 address, because one
 * subscriber has all addresses that start with them.
 *
 * A connection from a private address may be a proxy's. Then the caller is the last entry of X-Forwarded-For, which the
 * proxy itself has added; the client may have made up the entries before that. A neighbor in a private network can
 * forge this header, so a limit per caller needs another one for all callers together.
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
