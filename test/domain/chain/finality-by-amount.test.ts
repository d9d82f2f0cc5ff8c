import { expect, test } from 'bun:test';
import {
  type AmountRule,
  allowsFinality,
  describeFinality,
  type FinalityByAmount,
  finalityErrors,
  finalityFor,
  levelsOf,
  levelsText,
  mostConfirmations,
  reasonOfLevel,
  ruleAmount,
  webhookFinalityOf,
  webhookFinalityText,
} from '../../../src/domain/chain/finality-by-amount.ts';
import { amountKey } from '../../../src/domain/chain/payments.ts';
import { PRACTICE_TOKEN } from '../../../src/domain/chain/practice.ts';
import { parseDecimal } from '../../../src/domain/payload-filter/decimal.ts';

const BASE = 8453;
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
const EURC = '0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42';

const rule = (maxAmount: string, finality: AmountRule['finality']): AmountRule => ({
  maxAmount,
  tokens: ['usd'],
  finality,
});
const RULES: FinalityByAmount = { rules: [rule('50', 'seen'), rule('500', 12)], otherwise: 'final' };

function keyOf(amount: string): string {
  const decimal = parseDecimal(amount);
  return (decimal === null ? null : amountKey(decimal)) ?? '';
}

test('the first rule that an amount does not exceed decides, exactly', () => {
  const levels = ['0.000001', '9', '50', '50.00', '50.000000000000000001', '100', '500', '500.01', '5000'].map(
    (amount) => [amount, finalityFor(webhookFinalityText(RULES), keyOf(amount))],
  );
  expect(Object.fromEntries(levels)).toEqual({
    ...{ '0.000001': 'seen', '9': 'seen', '50': 'seen', '50.00': 'seen' },
    ...{ '50.000000000000000001': '12', '100': '12', '500': '12' },
    ...{ '500.01': 'final', '5000': 'final' },
  });
  expect(finalityFor(webhookFinalityText(RULES), null)).toBe('final');
  for (const level of ['seen', 'safe', 'final', '7']) expect(finalityFor(level, keyOf('1'))).toBe(level);
});

test('only listed stablecoins of the dollar have an amount that rules compare', () => {
  const amount = keyOf('25');
  expect(ruleAmount(BASE, { token: USDC, amount })).toBe(amount);
  expect(ruleAmount(0, { token: PRACTICE_TOKEN, amount })).toBe(amount);
  expect(ruleAmount(BASE, { token: EURC, amount })).toBeNull();
  // The same address on another network is another token.
  expect(ruleAmount(1, { token: USDC, amount })).toBeNull();
  expect(ruleAmount(BASE, { token: 'USDC', amount })).toBeNull();
  expect(ruleAmount(BASE, { token: null, amount })).toBeNull();
  expect(ruleAmount(BASE, { token: USDC, amount: null })).toBeNull();
});

test('of a part of a larger sum, the larger amount counts', () => {
  const part = { token: USDC, amount: keyOf('40') };
  expect(ruleAmount(BASE, part, keyOf('1000'))).toBe(keyOf('1000'));
  expect(ruleAmount(BASE, part, keyOf('9'))).toBe(keyOf('40'));
  expect(ruleAmount(BASE, { ...part, token: EURC }, keyOf('1000'))).toBeNull();
  expect(ruleAmount(BASE, { ...part, amount: null }, keyOf('1000'))).toBeNull();
});

test('is stored as one text, however it was written, and read again', () => {
  const written = { otherwise: 'final', rules: [{ finality: 'seen', tokens: ['usd'], maxAmount: '050.00' }] };
  const text = webhookFinalityText(written as unknown as FinalityByAmount);
  expect(text).toBe('{"rules":[{"maxAmount":"50","tokens":["usd"],"finality":"seen"}],"otherwise":"final"}');
  expect(webhookFinalityText(webhookFinalityOf(text))).toBe(text);
  for (const level of ['seen', 'safe', 'final', 12] as const) {
    expect(webhookFinalityOf(webhookFinalityText(level))).toBe(level);
  }
});

test('has each level once, and the most confirmations among them', () => {
  const more = { ...RULES, rules: [rule('1', 'seen'), rule('2', 3), rule('3', 'seen'), rule('4', 3)] };
  expect(levelsText(more)).toBe('3,final,seen');
  expect(levelsOf(levelsText(more))).toEqual(['3', 'final', 'seen']);
  expect(levelsText(12)).toBe('12');
  expect([RULES, more, 7, 'final'].map((one) => mostConfirmations(one as FinalityByAmount))).toEqual([12, 3, 7, 0]);
});

test('is not for events that are always final', () => {
  expect(allowsFinality('TransferFinalized', RULES)).toBe(false);
  expect(allowsFinality('TransferFinalized', { ...RULES, rules: [rule('1', 'final')] })).toBe(false);
  expect(allowsFinality('TransferProcessed', RULES)).toBe(true);
});

const LEVEL = '"seen", "safe", "final" or a whole number of confirmations from 2 to 1000';
const OBJECT = 'must be an object with maxAmount, tokens and finality';
const AMOUNT = 'must be a decimal above 0 as a string, such as "50", with at most 40 characters';

test.each<[unknown, Record<string, string>]>([
  [RULES, {}],
  [{ ...RULES, rules: Array.from({ length: 5 }, (_, place) => rule(`${place + 1}`, 'seen')) }, {}],
  [{}, { rules: 'must be a list of 1 to 5 rules, the smallest maxAmount first', otherwise: `must be ${LEVEL}` }],
  [{ ...RULES, rules: [] }, { rules: 'must be a list of 1 to 5 rules, the smallest maxAmount first' }],
  [
    { ...RULES, rules: Array.from({ length: 6 }, (_, place) => rule(`${place + 1}`, 'seen')) },
    { rules: 'must be a list of 1 to 5 rules, the smallest maxAmount first' },
  ],
  [{ ...RULES, fallback: 1 }, { fallback: 'is not a known field; give rules and otherwise' }],
  [
    { ...RULES, rules: [null, 'x', []] },
    { 'rules.0': OBJECT, 'rules.1': OBJECT, 'rules.2': OBJECT },
  ],
  [{ ...RULES, otherwise: RULES }, { otherwise: `must be ${LEVEL}` }],
  [{ ...RULES, rules: [rule('50', 1)] }, { 'rules.0.finality': `must be ${LEVEL}` }],
  [
    { ...RULES, rules: [rule('50', 'seen'), rule('50.0', 12)] },
    { 'rules.1.maxAmount': 'must be more than the maxAmount before it' },
  ],
  [
    { ...RULES, rules: [rule('100', 'seen'), rule('20', 12)] },
    { 'rules.1.maxAmount': 'must be more than the maxAmount before it' },
  ],
  [
    { ...RULES, rules: [{ ...rule('50', 'seen'), tokens: ['eur'] }] },
    { 'rules.0.tokens': 'must be ["usd"], the listed dollar stablecoins: no other token has a known worth' },
  ],
  [
    { ...RULES, rules: [{ ...rule('50', 'seen'), token: 'usd' }] },
    { 'rules.0.token': 'is not a known field; give maxAmount, tokens and finality' },
  ],
  ...[50, '0', '0.0', '-5', '1e3', '5,5', '', ' 5', '9'.repeat(41), null].map(
    (maxAmount): [unknown, Record<string, string>] => [
      { ...RULES, rules: [{ ...rule('50', 'seen'), maxAmount }] },
      { 'rules.0.maxAmount': AMOUNT },
    ],
  ),
])('%j has the errors %j', (finality, expected) => {
  const errors = finalityErrors(finality).map(({ path, message }) => [path.join('.'), message]);
  expect(Object.fromEntries(errors)).toEqual(expected);
});

test('is described for people, and so is the reason of a level', () => {
  expect(describeFinality(RULES)).toBe('seen up to 50 USD, 12 confirmations up to 500 USD, otherwise final');
  expect([describeFinality(12), describeFinality('safe')]).toEqual(['12 confirmations', 'safe']);
  const text = webhookFinalityText(RULES);
  expect(['50', '60', '501'].map((amount) => reasonOfLevel(text, keyOf(amount)))).toEqual([
    'for payments of up to 50 USD',
    'for payments of up to 500 USD',
    'for payments of more than 500 USD',
  ]);
  expect(reasonOfLevel(text, null)).toBe('for payments without a known amount in US dollars');
  expect(reasonOfLevel('seen', keyOf('1'))).toBeNull();
});
