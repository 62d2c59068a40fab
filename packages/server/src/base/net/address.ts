import ipaddr from 'ipaddr.js';

/**
 * True if an IP address is an ordinary public one. Special ranges are not: private, loopback, link-local (which
 * includes cloud metadata services), carrier NAT, multicast, reserved, and forms that embed another address.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // `process` turns ::ffff:10.0.0.1 into 10.0.0.1 first.
  const parsed = ipaddr.process(address);
  // Azure's platform service, which only its virtual machines can reach, is in a public range.
  if (parsed.range() !== 'unicast' || parsed.toString() === '168.63.129.16') return false;
  // Global unicast is 2000::/3. Outside it are obsolete forms such as ::10.0.0.1 and fec0::/10 that some systems route.
  return parsed.kind() === 'ipv4' || ((parsed as ipaddr.IPv6).parts[0]! & 0xe000) === 0x2000;
}

/** Returns the address in a URL's host. Undefined if the host is a name. */
export function literalAddress(host: string): string | undefined {
  const bare = host.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? bare : undefined;
}

/** True if a server listening on this host name or address is reachable from this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
