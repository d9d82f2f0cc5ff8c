import { expect, test } from 'bun:test';
import { getAddress } from 'viem/utils';
import { checksumAddress } from '../../../../src/chain/evm/decode/checksum-address.ts';
import { suiteRuns } from '../../../support/suite.ts';

test('an address has the capital letters of the examples in EIP-55', () => {
  const examples = [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0xde709f2102306220921060314715629080e2fb77',
  ];
  for (const example of examples) expect(checksumAddress(example.toLowerCase())).toBe(example);
});

test('every address has the capital letters that viem gives it', () => {
  const random = crypto.getRandomValues(new Uint8Array(20 * suiteRuns(500, 20_000)));
  for (let at = 0; at < random.length; at += 20) {
    const lower = `0x${random.subarray(at, at + 20).toHex()}`;
    expect(checksumAddress(lower)).toBe(getAddress(lower));
  }
});
