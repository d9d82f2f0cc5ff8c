import { expect, test } from 'bun:test';
import { AuditedNode } from '../../../src/chain/audit/audited-node.ts';
import { auditDay } from '../../../src/chain/audit/day-audit.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { GENESIS_S } from '../../support/chain/model-chain.ts';
import { modelDecoder } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const DAY_S = 86_400;
const DAY = Math.floor(GENESIS_S / DAY_S) * DAY_S;

onSuiteEngine('the audit of a day', (store) => {
  /** Nine payments in blocks of 120 s. The second day begins with block 54, and the first eight are of the first day. */
  async function paidNetwork() {
    const network = await newStoredNetwork(store.db, 1, { blockTimeS: 120 });
    const { chain, networkId, pay, follow, followBlocks } = network;
    const hashes: string[] = [];
    while (chain.head < 48) {
      hashes.push(pay().hash);
      await follow(1);
    }
    await followBlocks(5);
    hashes.push(pay().hash);
    await followBlocks(60);
    const audit = async (more: { faults?: Partial<Faults>; startS?: number; maxCalls?: number } = {}) => {
      const model = new ModelNode(chain, { chainId: networkId, ...more.faults });
      const node = new Node({
        name: 'other',
        identity: evmIdentity(networkId),
        exchange: model.exchange,
        callsPerSecond: 1_000_000,
      });
      const sinceS = more.startS ?? DAY;
      return auditDay({
        node: new AuditedNode(node, more.maxCalls ?? 1_000, async () => undefined),
        ...{
          db: store.db,
          decoder: modelDecoder,
          sources: [network.source],
          networkId,
          sinceS,
          untilS: sinceS + DAY_S,
        },
      });
    };
    const change = (index: number, sql: string) =>
      store.db.transaction((queries) =>
        queries.run(`${sql} where network_id = $1 and transaction_hash = $2`, [networkId, hashes[index] ?? '']),
      );
    return { ...network, hashes, audit, change };
  }

  test('finds nothing if the store has what the node has, and reads only the blocks of the day', async () => {
    const { audit } = await paidNetwork();
    const first = await audit();
    expect(first).toMatchObject({ state: 'complete', equal: 8, differences: [], blocks: { from: 0, to: 53 } });
    expect(first.calls).toBeLessThan(25);
    expect(await audit({ startS: DAY + DAY_S })).toMatchObject({ state: 'not_final_yet', equal: 1, differences: [] });
    // The node refuses long ranges and fails now and then.
    const faults = { maxBlocks: 3, rateLimited: 10, unreachable: 10 };
    expect(await audit({ faults })).toMatchObject({ state: 'complete', equal: 8, differences: [] });
  });

  test('names each kind of difference, with both sides', async () => {
    const { audit, change, hashes } = await paidNetwork();
    await change(0, 'delete from facts');
    await change(1, `update facts set state = 'retracted'`);
    await change(2, `update facts set state = 'seen', is_disputed = 1`);
    await change(3, `update facts set block_hash = '0xother'`);
    await change(4, `update facts set amount = '012'`);
    const denied = hashes[5] ?? '';
    const { equal, differences } = await audit({ faults: { denies: (hash) => hash === denied } });
    expect(equal).toBe(2);
    expect(differences.map(({ difference, transactionHash }) => [difference, hashes.indexOf(transactionHash)])).toEqual(
      [
        ['missing', 0],
        ['undone', 1],
        ['not_final', 2],
        ['other_block', 3],
        ['other_amount', 4],
        ['not_on_chain', 5],
      ],
    );
    expect(differences[1]).toMatchObject({ stored: { state: 'retracted' }, onChain: { blockNumber: 42 } });
    expect(differences[5]).toMatchObject({ stored: { state: 'final' }, onChain: null });
  });

  test('believes the receipt about a payment that the node left out of its logs', async () => {
    const { audit } = await paidNetwork();
    const faults = { omission: { responses: 100, logs: 100 } };
    expect(await audit({ faults })).toMatchObject({ equal: 8, differences: [] });
  });

  test('ends at its limit of calls, and says which blocks it has compared', async () => {
    const { audit } = await paidNetwork();
    expect(await audit({ maxCalls: 4 })).toMatchObject({ state: 'calls_used', blocks: null, calls: 4 });
    const some = await audit({ maxCalls: 30, faults: { maxBlocks: 2 } });
    expect(some).toMatchObject({ state: 'calls_used', differences: [] });
    expect(some.calls).toBeLessThanOrEqual(32);
  });
});
