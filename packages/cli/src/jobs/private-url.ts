import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { limits } from '@gen3d/schema/rules';
import { UsageError } from '../exit/failure.js';

const privateNetworks = new BlockList();
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4');
}
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addSubnet('fe80::', 10, 'ipv6');

/** Whether the URL's host is this machine or has a private address. A server refuses to fetch such URLs by default. */
export async function isOnPrivateNetwork({ hostname }: URL): Promise<boolean> {
  // The server may know a name that this machine does not.
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return addresses.some(({ address }) => privateNetworks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'));
}

/** Fetches a photo of at most 25 MiB. @throws {UsageError} if it cannot be fetched, or is larger */
export async function fetchPhoto(url: URL, signal: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(url, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    const { message } = cause instanceof Error && cause.cause instanceof Error ? cause.cause : (cause as Error);
    throw new UsageError(`Cannot fetch ${url.href}: ${message}. Check the URL, and that its server is running`, {
      cause,
    });
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new UsageError(`Cannot fetch ${url.href}: status ${response.status}. Check the URL`);
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > limits.remoteImageBytes)
      throw new UsageError(`${url.href} is larger than 25 MiB. Make the photo smaller`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
