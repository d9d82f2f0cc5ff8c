import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  addressBlock,
  isInRange,
  isLoopbackAddress,
  isPublicAddress,
  parseAddress,
  parseAddressRange,
} from '../../src/domain/ip-address.ts';

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '172.32.0.1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
];

const NOT_PUBLIC: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
  'link-local': ['169.254.169.254', 'fe80::1', 'fec0::1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  'documentation and benchmarking': [
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '198.18.0.1',
    '2001:db8::1',
    '3fff::1',
  ],
  'multicast, broadcast and reserved': ['224.0.0.1', '240.0.0.1', '255.255.255.255', '192.0.0.8', 'ff02::1', '100::1'],
  'a cloud platform': ['168.63.129.16', '169.254.170.2', 'fd00:ec2::254'],
  'IPv4-mapped': ['::ffff:8.8.8.8', '::ffff:808:808', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:0:7f00:1'],
  'IPv4-compatible': ['::8.8.8.8', '::127.0.0.1', '::7f00:1', '::2'],
  NAT64: ['64:ff9b::8.8.8.8', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
  '6to4': ['2002:808:808::1', '2002:7f00:1::', '192.88.99.1'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'never assigned': ['4000::1', '8000::1', '1::1'],
  'bound to a zone': ['fe80::1%eth0', '2606:4700::1111%1', '::1%lo'],
  'not written plainly': [
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '08.8.8.8',
    '8.8.8',
    ' 8.8.8.8',
    '8.8.8.8\n',
  ],
  'not an address': ['', 'example.com', '[2606:4700::1111]', '256.1.1.1', '1.2.3.4.5', ':::', '8.8.8.8/32'],
};

describe('a public address', () => {
  test.each(PUBLIC)('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  for (const [kind, addresses] of Object.entries(NOT_PUBLIC)) {
    test.each(addresses)(`%j is not: ${kind}`, (address) => {
      expect(isPublicAddress(address)).toBe(false);
    });
  }

  test('is never found in text that is no address', () => {
    // Throws with a counterexample.
    fc.assert(fc.property(fc.string(), (text) => isPublicAddress(text) === false || /^[0-9a-f.:]+$/i.test(text)));
  });

  test('is never one that carries an IPv4 address inside an IPv6 one', () => {
    // Throws with a counterexample.
    fc.assert(fc.property(fc.ipV4(), (v4) => !isPublicAddress(`::ffff:${v4}`) && !isPublicAddress(`64:ff9b::${v4}`)));
  });
});

describe('a range', () => {
  test.each(['10.0.0.0/8', '127.0.0.1', '::1', '2001:db8::/32', '0.0.0.0/0'])('is %s', (text) => {
    expect(parseAddressRange(text)).not.toBeNull();
  });

  test.each([
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    'localhost',
    '999.0.0.1',
  ])('is not "%s"', (text) => {
    expect(parseAddressRange(text)).toBeNull();
  });

  test.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['11.0.0.1', '10.0.0.0/8', false],
    ['2001:db8:1::5', '2001:db8:1::/48', true],
    ['2001:db8:2::5', '2001:db8:1::/48', false],
    ['10.1.2.3', '::/0', false],
    ['::1', '0.0.0.0/0', false],
  ])('with %s in %s: %p', (address, range, expected) => {
    const [parsed, parsedRange] = [parseAddress(address), parseAddressRange(range)];
    if (parsed === null || parsedRange === null) throw new Error('the case is not valid');
    expect(isInRange(parsed, parsedRange)).toBe(expected);
  });
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::', '2001:db8:1:2'],
])('%s is of the block %s', (address, block) => {
  expect(addressBlock(address)).toBe(block);
});

test('loopback is loopback in every spelling, and nothing else is', () => {
  for (const address of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
    expect([address, isLoopbackAddress(address)]).toEqual([address, true]);
  }
  for (const address of ['10.0.0.1', '::', '0.0.0.0', '::2', '203.0.113.7', 'localhost', '']) {
    expect([address, isLoopbackAddress(address)]).toEqual([address, false]);
  }
});
