import { expect } from 'bun:test';
import type { FactChange, FoundFact, Position } from '../../../src/domain/chain/facts.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import type { Step } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { CONFIRMED, PLAIN_STEP } from './steps.ts';

/** A network whose steps a test writes, with the payments that it wants. */

export const USDC = `0x${'c'.repeat(40)}`;
export const PAYER = `0x${'A'.repeat(40)}`;
export const SHOP = `0x${'b'.repeat(40)}`;

let lastNetworkId = 9_000;
let lastFact = 0;

export const at = (blockNumber: number, branch = 'a'): Position => ({
  blockNumber,
  blockHash: `0x${branch}${String(blockNumber).padStart(63, '0')}`,
  logIndex: 4,
});

export function newPaidNetwork(db: Database, entityId: string, networkId = ++lastNetworkId) {
  const networks = new NetworkStore(db, 'one', () => Promise.resolve([]));

  /** A payment of 1.5 USDC from the payer to the shop. */
  const payment = (blockNumber: number, more: Partial<FoundFact> = {}): FoundFact => {
    const digits = (++lastFact).toString(16);
    return {
      entityId,
      factId: `fct_${digits.padStart(26, 'a')}`,
      networkId,
      sourceId: 'src_1',
      kind: 'Transfer',
      isSilent: false,
      transactionHash: `0xab${digits.padStart(62, '0')}`,
      contract: USDC,
      position: at(blockNumber),
      transferId: null,
      agreementId: null,
      fields: { amount: '1.5', amountBase: '1500000', token: USDC, payer: PAYER, payee: SHOP },
      ...more,
    };
  };

  /** Commits a step up to the head, and accepts the events that it leads to. */
  const step = async (head: number, changes: readonly FactChange[] = [], more: Partial<Step> = {}) => {
    const lease = await networks.lease(networkId);
    if (lease === null) throw new Error('another instance holds the lease');
    const tip = { number: head, hash: at(head).blockHash };
    const levels = { head, safe: null, final: null, rangeBlocks: 1, blockTimeMs: 2_000 };
    const none = { ...PLAIN_STEP, backfilled: [], asked: [], nodes: [] };
    expect(await networks.commit(lease, { tip, anchors: [tip], changes, ...levels, ...none, ...more })).toBe(true);
    const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
    const options = { acceptQueue, isFull: async () => false, firstDelayMs: 0, onTask: () => undefined };
    for (let count = 1, round = 0; count > 0 && round < 50; round++) {
      count = await acceptFactEvents(db, networkId, options);
    }
  };

  /** Commits a step in which these payments are new. */
  const pay = (head: number, facts: readonly FoundFact[], more: Partial<Step> = {}) =>
    step(
      head,
      facts.map((fact): FactChange => ({ change: 'seen', fact, evidence: CONFIRMED })),
      more,
    );

  return { networkId, networks, payment, step, pay };
}
