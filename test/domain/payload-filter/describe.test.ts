import { expect, test } from 'bun:test';
import { describeFilter } from '../../../src/domain/payload-filter/describe.ts';
import type { PayloadFilter } from '../../../src/domain/payload-filter/payload-filter.ts';

test.each<[PayloadFilter, string[]]>([
  [{ amount: { min: '100', max: '999.99' } }, ['amount is from 100 to 999.99']],
  [{ amount: { min: '0.5' }, fee: { max: '1' } }, ['amount is at least 0.5', 'fee is at most 1']],
  [{ token: ['USDC'] }, ['token is USDC']],
  [{ token: ['0xAb', 'USDC', 'DAI'] }, ['token is 0xAb, USDC or DAI']],
  [{ period: [1, 2], trial: [false] }, ['period is 1 or 2', 'trial is false']],
  [{ a: ['1', 'true', 'two words', '', 'b,c'] }, ['a is "1", "true", "two words", "" or "b,c"']],
  [{ a: [1, 2, 3, 4, 5, 6, 7] }, ['a is 1, 2, 3, 4, 5 or one of 2 more']],
])('the filter %j reads %j', (filter, lines) => {
  expect(describeFilter(filter)).toEqual(lines);
});
