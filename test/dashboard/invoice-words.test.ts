import { expect, test } from 'bun:test';
import type { Invoice } from '../../src/client/chain/invoices.ts';
import { sentenceOf } from '../../src/dashboard/views/invoices/words.ts';

/** Only the fields that the sentence reads. */
function overpaid(receivedFinal: string, isFinal: boolean): Invoice {
  const amounts = { amount: '25', received: '88.89', receivedFinal, due: '0', decimals: 6 };
  const token = { token: `0x${'1'.repeat(40)}`, symbol: 'USDC' };
  return { state: 'overpaid', isFinal, isLate: false, untilBlock: null, ...amounts, ...token } as Invoice;
}

test.each([
  ['0', false, 'A reorg can still undo it.'],
  ['78.9', true, 'The expected amount cannot be undone.'],
  ['88.89', true, 'It cannot be undone.'],
])('of an overpaid invoice with %s final, what cannot be undone is said', (receivedFinal, isFinal, sentence) => {
  expect(sentenceOf(overpaid(receivedFinal, isFinal))).toBe(
    `88.89 USDC received, 63.89 USDC more than expected. ${sentence}`,
  );
});
