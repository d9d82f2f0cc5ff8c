import { expect, test } from 'bun:test';
import { readPaymentSearch } from '../../../src/domain/chain/payment-search.ts';
import {
  amountKey,
  amountOfKey,
  factIdOfPayment,
  partyOf,
  paymentColumns,
  paymentIdOf,
} from '../../../src/domain/chain/payments.ts';
import { compareDecimals, type Decimal, parseDecimal } from '../../../src/domain/payload-filter/decimal.ts';

const decimal = (text: string): Decimal => {
  const parsed = parseDecimal(text);
  if (parsed === null) throw new Error(`${text} is not a decimal`);
  return parsed;
};

test('amount keys sort as their amounts do, and return the amount', () => {
  const amounts = [
    '0',
    '0.000001',
    '0.05',
    '0.5',
    '0.51',
    '1',
    '1.5',
    '9.99',
    '10',
    '10.01',
    '99',
    '100',
    '1'.repeat(78),
  ];
  const keys = amounts.map((amount) => amountKey(decimal(amount)) ?? '');
  expect(keys.toSorted()).toEqual(keys);
  expect(keys.map(amountOfKey)).toEqual(amounts);
  expect(amountKey(decimal('025.50'))).toBe('0225.5');
});

test('amount keys of random decimals compare like the decimals', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const digits = () => Array.from({ length: 1 + random(12) }, () => random(10)).join('');
  for (let round = 0; round < 2_000; round++) {
    const [a, b] = [decimal(`${digits()}.${digits()}`), decimal(`${digits()}.${digits()}`)];
    const [keyA, keyB] = [amountKey(a) ?? '', amountKey(b) ?? ''];
    expect(Math.sign(compareDecimals(a, b))).toBe(keyA < keyB ? -1 : keyA > keyB ? 1 : 0);
  }
});

test('amounts that no token can have get no key', () => {
  for (const text of ['-1', '1'.repeat(79), '1e99', '1e-200']) expect(amountKey(decimal(text))).toBeNull();
});

test('a payment has the 26 characters of its fact', () => {
  const factId = `fct_${'a2'.repeat(13)}`;
  expect(paymentIdOf(factId)).toBe(`pay_${'a2'.repeat(13)}`);
  expect([paymentIdOf(factId), factId].map(factIdOfPayment)).toEqual([factId, factId]);
  for (const id of ['', 'pay_', `pay_${'a'.repeat(25)}`, `evt_${'a'.repeat(26)}`, `pay_${'A'.repeat(26)}`]) {
    expect(factIdOfPayment(id)).toBeNull();
  }
});

test('only transfers are payments, even of the amount 0', () => {
  const isPayment = (kind: string, fields: Record<string, unknown>) => paymentColumns(kind, fields).isPayment;
  expect(isPayment('Transfer', { amount: '1' })).toBe(1);
  expect(isPayment('TransferFinalized', {})).toBe(1);
  expect(isPayment('Transfer', { amount: '0' })).toBe(1);
  expect(isPayment('Transfer', { amountBase: '0' })).toBe(1);
  expect(isPayment('LatePayment', { amount: '1' })).toBe(0);
  expect(isPayment('AgreementSignedUp', { amount: '1' })).toBe(0);
  // A number with a fraction is rounded before anyone can read it.
  expect(paymentColumns('Transfer', { amount: 1.1 }).amount).toBeNull();
});

test('accounts are addresses in lower case, or names as they are written', () => {
  expect(partyOf(`0x${'AB'.repeat(20)}`)).toBe(`0x${'ab'.repeat(20)}`);
  expect(partyOf('Till 7')).toBe('Till 7');
  for (const value of ['', 'a\u0000', 'x'.repeat(257), 7, null, '\ud800']) expect(partyOf(value)).toBeNull();
});

test('the form of a search decides what it names', () => {
  const meanings = {
    [`0x${'Ab'.repeat(32)}`]: 'transaction',
    ['ab'.repeat(32)]: 'transaction',
    [`0x${'Ab'.repeat(20)}`]: 'address',
    ['1'.repeat(40)]: 'address',
    [`pay_${'a'.repeat(26)}`]: 'payment',
    [`fct_${'a'.repeat(26)}_1_TransferProcessed_seen`]: 'payment',
    [`evt_${'0'.repeat(32)}`]: 'event',
    [`dlv_${'0'.repeat(32)}`]: 'delivery',
    '12.50': 'amount',
    '7012': 'amount',
    '1.': 'subject',
    '0x12': 'subject',
    agr_7012: 'subject',
    pay_short: 'subject',
  };
  for (const [text, by] of Object.entries(meanings)) expect([text, readPaymentSearch(text).by]).toEqual([text, by]);
});
