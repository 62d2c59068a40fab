import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../base/net/address.js';

type Peer = Pick<IncomingMessage, 'socket' | 'headers'>;

/**
 * Returns the address of a request's client.
 *
 * A connection from a private address may come from a proxy. Then the client is the last entry of X-Forwarded-For,
 * which the proxy itself added; the client may have invented the entries before it. A client in the private network can
 * forge this header, so a limit per client needs another one per origin.
 */
export function addressOf(request: Peer): string {
  return forwardedBy(request) ?? request.socket.remoteAddress ?? '';
}

/** Returns the client that a proxy names, if the connection may come from a proxy. */
function forwardedBy({ socket, headers }: Peer): string | undefined {
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  return forwarded && ipaddr.isValid(forwarded) && !isPublicAddress(socket.remoteAddress ?? '') ? forwarded : undefined;
}

/**
 * Identifies the client of a request, for limits per client: an IPv4 address, or the first 64 bits of an IPv6 address,
 * because a subscriber usually has all addresses with these bits.
 */
export function clientOf(request: Peer): string {
  const address = addressOf(request);
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${parsed.toByteArray().slice(0, 8).join(':')}/64`;
}
