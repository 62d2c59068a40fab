import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../base/net/address.js';

type Peer = Pick<IncomingMessage, 'socket' | 'headers'>;

const peerOf = ({ socket }: Peer): string => socket.remoteAddress ?? '';

/**
 * Returns the client that a proxy names, if the connection may come from a proxy: from a private address. The client is
 * the last entry of X-Forwarded-For, which the proxy itself added; the client may have invented the entries before it.
 * A client in the private network can forge this header, so a limit per client needs another one per origin.
 */
function forwardedBy(request: Peer): string | undefined {
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  return forwarded && ipaddr.isValid(forwarded) && !isPublicAddress(peerOf(request)) ? forwarded : undefined;
}

/** Describes a request's client for people: its address, and the proxy that reported it, since it may be forged. */
export function originOf(request: Peer): string {
  const forwarded = forwardedBy(request);
  return forwarded === undefined ? peerOf(request) : `${forwarded} through ${peerOf(request)}`;
}

/**
 * Identifies the client of a request, for limits per client: an IPv4 address, or the first 64 bits of an IPv6 address,
 * because a subscriber usually has all addresses with these bits.
 */
export function clientOf(request: Peer): string {
  const address = forwardedBy(request) ?? peerOf(request);
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${parsed.toByteArray().slice(0, 8).join(':')}/64`;
}
