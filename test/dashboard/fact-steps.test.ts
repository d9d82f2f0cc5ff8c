import { expect, test } from 'bun:test';
import type { FactStep } from '../../src/client/chain/facts.ts';
import { displayOf } from '../../src/dashboard/views/deliveries/panel/fact/steps.ts';

const PLACE = { blockNumber: 7, blockHash: '0xa', logIndex: 0 };
const SEEN: FactStep = { state: 'seen', revision: 1, ...PLACE, isDisputed: false, dateCreated: 1 };
const DISPUTED: FactStep = { ...SEEN, isDisputed: true };
const WAITING: FactStep = { ...SEEN, state: 'waiting', blockNumber: null, blockHash: null, logIndex: null };
const LOST: FactStep = { ...SEEN, state: 'lost' };
const RETRACTED: FactStep = { ...SEEN, state: 'retracted' };
const ELSEWHERE: FactStep = { ...SEEN, blockNumber: 9, blockHash: '0xb' };

test.each<[string, FactStep, FactStep | null]>([
  ['Held until its transaction is in a block', WAITING, null],
  ['Seen in block 7', SEEN, null],
  ['Seen in block 7', SEEN, WAITING],
  ['Moved to block 9', ELSEWHERE, SEEN],
  ['Moved to block 9', ELSEWHERE, LOST],
  ['Back in block 7', SEEN, LOST],
  ['Lost: block 7 is gone', LOST, SEEN],
  ['Retracted', RETRACTED, LOST],
  ['Seen again in block 9', { ...ELSEWHERE, revision: 2 }, RETRACTED],
  ['Seen again in block 7', { ...SEEN, revision: 2 }, RETRACTED],
  ['Disputed: nodes disagree about block 7', DISPUTED, SEEN],
  ['Nodes agree on block 7', SEEN, DISPUTED],
  ['Moved to block 9', ELSEWHERE, DISPUTED],
  ['Final in block 7', { ...SEEN, state: 'final' }, SEEN],
])('a step of a payment is shown as %p', (title, step, previous) => {
  expect(displayOf(step, previous).title).toBe(title);
});

test('a history whose beginning was cut off says that the payment was seen again', () => {
  expect(displayOf({ ...SEEN, revision: 60 }, null).title).toBe('Seen again in block 7');
});
