import { describe, expect, test } from 'bun:test';
import { factId, isFactId, type LogContent } from '../../../src/domain/chain/fact-id.ts';

const content: LogContent = {
  networkId: 8453,
  transactionHash: `0x${'a'.repeat(64)}`,
  contract: `0x${'b'.repeat(40)}`,
  topics: [`0x${'c'.repeat(64)}`, `0x${'d'.repeat(64)}`],
  data: '0x1234',
  n: 0,
};

describe('the id of a fact', () => {
  test('is the beginning of a SHA-256 in base32 of RFC 4648, in lower case', () => {
    const { networkId, transactionHash, contract, topics, data, n } = content;
    const hash = Bun.SHA256.hash(
      `${networkId} ${transactionHash} ${contract} 2 ${topics.join(' ')} ${data} ${n}`,
      'hex',
    );
    const bits = BigInt(`0x${hash}`).toString(2).padStart(256, '0');
    const digits = Array.from({ length: 26 }, (_, at) => Number.parseInt(bits.slice(at * 5, at * 5 + 5), 2));
    expect(factId(content)).toBe(`fct_${digits.map((digit) => 'abcdefghijklmnopqrstuvwxyz234567'[digit]).join('')}`);
  });

  test('is another one for anything that the log says', () => {
    const others: LogContent[] = [
      content,
      { ...content, networkId: 1 },
      { ...content, transactionHash: `0x${'b'.repeat(64)}` },
      { ...content, contract: `0x${'a'.repeat(40)}` },
      { ...content, topics: content.topics.slice(0, 1) },
      { ...content, topics: [] },
      { ...content, topics: content.topics.toReversed() },
      { ...content, data: '0x' },
      { ...content, n: 1 },
      // The same words in another place.
      { ...content, topics: content.topics.slice(0, 1), data: `${content.topics[1]} 0x1234` },
    ];
    const ids = others.map(factId);
    expect(new Set(ids).size).toBe(others.length);
    expect(ids.every(isFactId)).toBe(true);
  });

  test.each([
    '',
    'fct_',
    `fct_${'a'.repeat(25)}`,
    `fct_${'a'.repeat(27)}`,
    `fct_${'A'.repeat(26)}`,
    `evt_${'a'.repeat(26)}`,
  ])('is not %j', (text) => expect(isFactId(text)).toBe(false));
});
