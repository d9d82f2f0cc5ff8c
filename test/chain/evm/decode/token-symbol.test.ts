import { expect, test } from 'bun:test';
import { encodeAbiParameters, stringToHex } from 'viem/utils';
import { parseSymbol } from '../../../../src/chain/evm/decode/token-symbol.ts';
import { CONTRACT, PAYEE, PAYER, presetLog, sourceOf, testDecoder, word } from '../../../support/chain/logs.ts';

const text = (value: string) => encodeAbiParameters([{ type: 'string' }], [value]);

test.each([
  ['a text', text('USDC'), 'USDC'],
  ['a text with bidirectional marks', text('\u202eCDSU'), 'CDSU'],
  ['32 bytes', stringToHex('MKR', { size: 32 }), 'MKR'],
  ['a long text', text('x'.repeat(200)), 'x'.repeat(32)],
  ['a text of more than 256 bytes', text('x'.repeat(257)), null],
  ['an empty text', text(''), null],
  ['nothing', '0x', null],
  ['a text that is cut off', text('USDC').slice(0, -64), null],
  ['bytes that are not a text', `0x${'ff'.repeat(32)}`, null],
  ['a number', word(6), null],
])('the symbol in %s', (_, data, symbol) => {
  expect(parseSymbol(data)).toBe(symbol);
});

const SYMBOL = '0x95d89b41';
const UNLISTED = `0x${'5'.repeat(40)}`;

const sourceFor = (contract: string) => sourceOf({ preset: 'erc20', contract, where: { to: [PAYEE] } });
const transferOf = (contract: string) => ({ ...presetLog('erc20', [PAYER, PAYEE, 5n]), address: contract });

test('a token that is not listed is asked for its symbol, once, with its decimals', async () => {
  const decode = testDecoder(({ data }) => ({ data: data === SYMBOL ? text('FAKE') : word(6) }));
  for (let round = 0; round < 2; round++) {
    await decode.decoder.decode([transferOf(UNLISTED)], [sourceFor(UNLISTED)]);
  }
  expect(decode.calls.map(({ data }) => data).sort()).toEqual(['0x313ce567', SYMBOL]);
  expect([...decode.saved]).toEqual([[UNLISTED, { decimals: 6, symbol: 'FAKE' }]]);
});

test('a listed token is not asked for its symbol, and a symbol that no node returns delays no amount', async () => {
  const listed = testDecoder();
  await listed.decoder.decode([transferOf(CONTRACT)], [sourceFor(CONTRACT)]);
  expect(listed.calls).toHaveLength(1);
  const decode = testDecoder(({ data }) => (data === SYMBOL ? { failed: 'unknown' } : { data: word(6) }));
  const facts = await decode.decoder.decode([transferOf(UNLISTED)], [sourceFor(UNLISTED)]);
  expect(facts[0]?.fields).toMatchObject({ amount: '0.000005' });
});
