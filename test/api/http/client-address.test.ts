import { describe, expect, test } from 'bun:test';
import { clientAddress } from '../../../src/api/http/client-address.ts';
import { type AddressRange, parseAddressRange } from '../../../src/domain/ip-address.ts';

const ranges = (...texts: string[]) => texts.map(parseAddressRange).filter((range): range is AddressRange => !!range);

describe('the client', () => {
  const trusted = ranges('127.0.0.1', '10.0.0.0/8', '2001:db8:1::/48');

  test.each([
    ['the peer, when no proxy is trusted', '10.0.0.9', '203.0.113.7', [], '10.0.0.9'],
    ['the peer, when it is no trusted proxy', '198.51.100.1', '203.0.113.7', trusted, '198.51.100.1'],
    ['whom the trusted proxy names', '127.0.0.1', '203.0.113.7', trusted, '203.0.113.7'],
    ['the right-most that is no proxy', '10.0.0.1', '8.8.8.8, 203.0.113.7, 10.9.9.9', trusted, '203.0.113.7'],
    ['not what the client itself wrote before it', '127.0.0.1', '127.0.0.1, 203.0.113.7', trusted, '203.0.113.7'],
    ['the first proxy, when all are', '127.0.0.1', '10.0.0.2, 10.0.0.1', trusted, '10.0.0.2'],
    ['the proxy, when it names no one', '127.0.0.1', null, trusted, '127.0.0.1'],
    ['the proxy, when what it names is no address', '127.0.0.1', '203.0.113.7, unknown', trusted, '127.0.0.1'],
    ['named with a port', '127.0.0.1', '203.0.113.7:4711', trusted, '203.0.113.7'],
    ['named in brackets', '127.0.0.1', '[2001:db8::7]:4711', trusted, '2001:db8::7'],
    ['behind a proxy in IPv6', '2001:db8:1::5', '2001:db8:2::7', trusted, '2001:db8:2::7'],
    ['behind a proxy that a dual socket names', '::ffff:10.1.2.3', '203.0.113.7', trusted, '203.0.113.7'],
    ['unknown, when the peer is', null, '203.0.113.7', trusted, null],
  ] as const)('is %s', (_name, peer, forwardedFor, proxies, client) => {
    expect(clientAddress(peer, forwardedFor, proxies)).toBe(client);
  });
});
