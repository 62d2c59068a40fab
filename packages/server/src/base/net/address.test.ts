import { expect, test } from 'vitest';
import { isPublicAddress, literalAddress } from './address.js';

test.each(['1.1.1.1', '93.184.216.34', '2606:4700::1111', '2001:4860:4860::8888', '::ffff:1.1.1.1'])(
  '%s is public',
  (address) => expect(isPublicAddress(address)).toBe(true),
);

test.each([
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['0.0.0.0', 'this host'],
  ['10.0.0.1', 'private'],
  ['172.16.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.1', 'carrier NAT'],
  ['169.254.169.254', 'cloud metadata'],
  ['192.0.0.192', 'cloud metadata'],
  ['192.0.2.1', 'documentation'],
  ['198.18.0.1', 'benchmarking'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'this host'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'obsolete form of an IPv4 address'],
  ['::ffff:127.0.0.1', 'mapped loopback'],
  ['::ffff:a9fe:a9fe', 'mapped metadata'],
  ['64:ff9b::7f00:1', 'translated loopback'],
  ['64:ff9b:1::7f00:1', 'translated loopback'],
  ['2002:7f00:1::', '6to4 of loopback'],
  ['2001:0:7f00:1::', 'Teredo'],
  ['2001:db8::1', 'documentation'],
  ['fc00::1', 'unique local'],
  ['fd00:ec2::254', 'cloud metadata'],
  ['fe80::1', 'link-local'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['example.com', 'not an address'],
])('%s is not public: %s', (address) => expect(isPublicAddress(address)).toBe(false));

test('an address in a URL is recognized in every notation, and a name is not', () => {
  const hostOf = (url: string) => literalAddress(new URL(url).hostname);
  for (const url of ['http://127.0.0.1', 'http://2130706433', 'http://0x7f.1', 'http://0177.0.0.1', 'http://127.1']) {
    expect(hostOf(url)).toBe('127.0.0.1');
  }
  expect(hostOf('http://[::1]:80')).toBe('::1');
  expect(hostOf('http://localhost')).toBeUndefined();
});
