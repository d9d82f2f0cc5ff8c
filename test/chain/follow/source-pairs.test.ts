import { expect, test } from 'bun:test';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { removeOldFacts } from '../../../src/store/chain/retention.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { type SourceUpdate, updateSource } from '../../../src/store/chain/sources/update.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { definitionOf, presetLog, sourceOf, word } from '../../support/chain/logs.ts';
import { addressOf, ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { storeFollower } from '../../support/chain/store-follower.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

/** Several sources that take the same payments. */

const [PAYER, PAYEE, OTHER] = [addressOf(9), addressOf(11), addressOf(12)];
const POLL_MS = 2_000;
const FINAL_DEPTH = 4;
const DAY_MS = 86_400_000;
let lastNetworkId = 12_000;

async function newNetwork(db: Database) {
  const networkId = ++lastNetworkId;
  const entityId = await newEntity(db);
  await register(db, entityId, 'https://hooks.example.com/shop', [{ networkId, event: 'TransferProcessed' }]);
  const chain = new ModelChain();
  chain.mineEmpty(20);
  const { exchange } = new ModelNode(chain, { chainId: networkId, finalized: FINAL_DEPTH, safe: FINAL_DEPTH });
  let ms = 0;
  const exchanges = { one: exchange, two: exchange };
  const follower = storeFollower(db, { networkId, exchanges, nowMs: () => ms, stepChanges: 100 });
  const prepare = (payees: readonly string[], changes: Partial<SourceDefinition> = {}) => {
    const definition = { ...definitionOf({ networkId, preset: 'erc20', where: { to: payees } }), ...changes };
    const topics = [null, null, payees.map((payee) => word(BigInt(payee))), null];
    return { definition, topic: sourceOf({ preset: 'erc20' }).topic, topics, head: chain.head };
  };
  const poll = async () => {
    ms += POLL_MS;
    return (await follower.poll()).hasBackfill;
  };
  return {
    ...{ networkId, entityId, chain },
    create: async (payees: readonly string[], changes: Partial<SourceDefinition> = {}, of = entityId) =>
      (await createSource(db, of, prepare(payees, changes), 10, TEST_CHANGE)).source.sourceId,
    update: (sourceId: string, changes: SourceUpdate) => updateSource(db, entityId, sourceId, 1, changes, TEST_CHANGE),
    /** One block after another with a payment, each with a poll. */
    pay: async (blocks: number, payee = PAYEE) => {
      for (let block = 0; block < blocks; block++) {
        chain.mine([chain.transaction({ logs: [presetLog('erc20', [PAYER, payee, 5n])] })]);
        await poll();
      }
    },
    catchUp: async () => {
      for (let polls = 0; (await poll()) && polls < 50; polls++);
    },
    /** The blocks of the payments of which webhooks are told, in this order. */
    told: async () => {
      const rows = await db.all<{ block_number: number | string }>(
        `select f.block_number from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
         where e.network_id = $1 and e.entity_id = $2 order by e.no`,
        [networkId, entityId],
      );
      return rows.map(({ block_number }) => Number(block_number));
    },
    /** As where the events are accepted, and everything is older than the retention period. Returns the number of facts. */
    retain: async () => {
      await db.transaction((queries) => queries.run('delete from fact_events where network_id = $1', [networkId]));
      const age = { beforeMs: Date.now() + DAY_MS, eventsBeforeHex: 'f'.repeat(32) };
      return removeOldFacts(db, entityId, age, 100);
    },
  };
}

onSuiteEngine('sources that take the same payments', (store) => {
  test.each([
    ['a source', false, false],
    ['a source that delivers its history', true, false],
    ['a source of another entity', true, true],
  ])('are not told again of payments that retention has removed: %s', async (_, deliverHistory, isOfOther) => {
    const network = await newNetwork(store.db);
    await network.create([PAYEE]);
    await network.pay(12);
    expect((await network.told()).length).toBe(12);
    expect(await network.retain()).toBeGreaterThan(3);
    const entityId = isOfOther ? await newEntity(store.db) : network.entityId;
    await network.create([PAYEE, OTHER], { fromBlock: 1, deliverHistory }, entityId);
    await network.catchUp();
    expect(await network.told()).toEqual([]);
    await network.pay(1);
    expect(await network.told()).toEqual([network.chain.head]);
  });

  test.each([
    ['whose payments are all dust', true, { minAmount: '1' }],
    ['that reads the blocks of the pause as its history', false, { fromBlock: 1 }],
  ])('do not keep the payments of a pause from the older one: beside one %s', async (_, isThere, changes) => {
    const network = await newNetwork(store.db);
    const older = await network.create([PAYEE]);
    await network.pay(10);
    await network.update(older, { isPaused: true });
    if (isThere) await network.create([PAYEE, OTHER], changes);
    await network.pay(20);
    if (!isThere) await network.create([PAYEE, OTHER], changes);
    await network.catchUp();
    await network.pay(3);
    await network.update(older, { isPaused: false });
    await network.catchUp();
    await network.pay(3);
    expect((await network.told()).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 36 }, (_each, at) => 21 + at),
    );
  });

  test('do not keep the history from one that delivers it and is paused before its turn', async () => {
    const network = await newNetwork(store.db);
    await network.pay(10);
    const older = await network.create([PAYEE], { fromBlock: 1, deliverHistory: true });
    await network.update(older, { isPaused: true });
    await network.create([PAYEE, OTHER], { fromBlock: 1 });
    await network.catchUp();
    await network.pay(3);
    await network.update(older, { isPaused: false });
    await network.catchUp();
    await network.pay(3);
    expect((await network.told()).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 16 }, (_each, at) => 21 + at),
    );
  });
});
