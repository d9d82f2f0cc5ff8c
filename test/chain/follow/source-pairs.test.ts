import { expect, test } from 'bun:test';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../src/chain/evm/reader.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { findEntries } from '../../../src/store/chain/addresses/books.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { removeOldFacts } from '../../../src/store/chain/retention.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { type SourceUpdate, updateSource } from '../../../src/store/chain/sources/update.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { definitionOf, presetLog, sourceOf, testDecoder, word } from '../../support/chain/logs.ts';
import { addressOf, ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
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
  const { decoder } = testDecoder(undefined, (id, addresses) => findEntries(db, id, addresses));
  const sources = new FollowedSources();
  let ms = 0;
  const clock = { nowMs: () => ms, sleep: () => Promise.resolve() };
  const identity = evmIdentity(networkId);
  const nodes = ['one', 'two'].map((name) => new Node({ name, identity, exchange, clock, callsPerSecond: 1e6 }));
  const follower = new Follower({
    store: new NetworkStore(db, 'one', (queries, id) => sources.read(queries, id)),
    ...{ nodes: new Nodes(nodes), reader: new EvmReader(decoder), networkId, clock },
    ...{ finalityDepth: null, leastDepth: 0, quorum: null, graceBlocks: 3 },
  });
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
