import { describe, expect, test } from 'bun:test';
import { Ledger, type ReceivedEvent } from '../../demo/chain/ledger.ts';

const HASH = '0xaa';
const BLOCK = { blockNumber: 7, blockHash: '0xb7' };
const CHAIN = new Map([[HASH, { ...BLOCK, amountBase: '25' }]]);

function received(event: string, changes: Partial<ReceivedEvent> = {}): ReceivedEvent {
  const common = { event, transactionHash: HASH, revision: 1, retracts: null, amountBase: '25', ...BLOCK };
  return { ...common, eventId: `${event}_${changes.revision ?? 1}`, ...changes };
}

const processed = (revision = 1) => received('TransferProcessed', { revision });
const retracted = (revision = 1) =>
  received('EventRetracted', { revision, retracts: `TransferProcessed_${revision}`, amountBase: null });
const finalized = (changes: Partial<ReceivedEvent> = {}) => received('TransferFinalized', changes);

function ledgerOf(...events: readonly ReceivedEvent[]): Ledger {
  const ledger = new Ledger();
  for (const event of events) ledger.add(event);
  return ledger;
}

describe('the ledger of the demo', () => {
  test('finds nothing wrong with a payment that was told, taken back, told again and finalized', () => {
    const ledger = ledgerOf(processed(), retracted(), processed(2), finalized({ revision: 2 }));
    expect(ledger.errors(CHAIN)).toEqual([]);
    expect([ledger.believed.has(HASH), ledger.finalized.has(HASH), ledger.moved]).toEqual([true, true, 0]);
  });

  test('finds nothing wrong with a payment that was told and taken back for good', () => {
    const ledger = ledgerOf(processed(), retracted());
    expect(ledger.errors(new Map())).toEqual([]);
    expect(ledger.believed.size).toBe(0);
  });

  test('counts a payment that was finalized in another block as moved', () => {
    const elsewhere = received('TransferProcessed', { blockNumber: 6, blockHash: '0xb6' });
    expect(ledgerOf(elsewhere, finalized()).moved).toBe(1);
    expect(ledgerOf(elsewhere, finalized()).errors(CHAIN)).toEqual([]);
  });

  test.each<[string, readonly ReceivedEvent[], typeof CHAIN, number]>([
    ['a payment that it was not told of', [], CHAIN, 2],
    ['a payment that was not finalized', [processed()], CHAIN, 1],
    ['a payment that was told twice', [processed(), processed(2), finalized()], CHAIN, 1],
    ['a payment that was finalized twice', [processed(), finalized(), finalized()], CHAIN, 1],
    ['a payment that is not in the chain', [processed()], new Map(), 1],
    ['a payment that was finalized and is not in the chain', [processed(), retracted(), finalized()], new Map(), 1],
    ['another block', [processed(), finalized({ blockNumber: 8 })], CHAIN, 1],
    ['another block of the same height', [processed(), finalized({ blockHash: '0xff' })], CHAIN, 1],
    ['another amount', [processed(), finalized({ amountBase: '26' })], CHAIN, 1],
    ['a retraction that came before what it takes back', [retracted(), processed()], new Map(), 1],
    ['a second retraction', [processed(), retracted(), retracted(), processed(2), finalized()], CHAIN, 2],
    ['a retraction of another revision', [processed(), { ...retracted(), revision: 2 }], new Map(), 1],
  ])('finds %s', (_, events, chain, errors) => {
    expect(ledgerOf(...events).errors(chain)).toHaveLength(errors);
  });
});
