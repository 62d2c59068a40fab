import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { clientOf, originOf } from './client-address.js';

const request = (remoteAddress: string, forwarded?: string) => ({
  socket: { remoteAddress } as IncomingMessage['socket'],
  headers: { 'x-forwarded-for': forwarded },
});
const client = (remoteAddress: string, forwarded?: string) => clientOf(request(remoteAddress, forwarded));

test('a client is identified by its IPv4 address in any notation, or by the first half of its IPv6 address', () => {
  expect(client('203.0.113.7')).toBe('203.0.113.7');
  expect(client('::ffff:8.8.8.8')).toBe('8.8.8.8');
  expect(client('2600:1:2:3:4:5:6:7')).toBe(client('2600:1:2:3::1'));
  expect(client('2600:1:2:3::1')).not.toBe(client('2600:1:2:4::1'));
});

test('behind a proxy in the same network, a client is identified by the address that the proxy added', () => {
  expect(client('127.0.0.1', '8.8.8.8')).toBe('8.8.8.8');
  expect(client('172.17.0.1', '1.1.1.1, 8.8.4.4')).toBe('8.8.4.4');
  expect(client('127.0.0.1', 'unknown')).toBe('127.0.0.1');
  expect(client('127.0.0.1')).toBe('127.0.0.1');
});

test('people read the peer besides the client that it names', () => {
  expect(originOf(request('10.0.0.5', '8.8.8.8'))).toBe('8.8.8.8 through 10.0.0.5');
  expect(originOf(request('10.0.0.5'))).toBe('10.0.0.5');
  expect(originOf(request('8.8.8.8', '1.1.1.1'))).toBe('8.8.8.8');
});

test('a client that connects from the internet cannot pretend to be another', () => {
  expect(client('8.8.8.8', '1.1.1.1')).toBe('8.8.8.8');
});
