import { expect, test } from 'bun:test';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { ModelChain, type ModelTransaction, wordOf } from '../../support/chain/model-chain.ts';
import { modelDecoder, modelSource, TOPIC } from '../../support/chain/model-decoder.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const HOOK = 'https://hooks.example.com/paybell';
let lastNetworkId = 7_000;

onEveryEngine('a network of which it was lost how far it was read', (store) => {
  test('is told of the confirmations that it gained meanwhile', async () => {
    const network = await newNetwork(store.db);
    const payment = network.pay();
    await network.follow();
    await network.lose();
    network.chain.mineEmpty(5);
    await network.follow();
    expect(await network.toldOf(payment)).toEqual(['TransferProcessed 4']);
  });

  test('is not told of a payment that was undone meanwhile', async () => {
    const network = await newNetwork(store.db);
    const payment = network.pay();
    await network.follow();
    await network.lose();
    network.chain.fork(1, [[], [], [], [], [], []]);
    await network.follow();
    expect(await network.toldOf(payment)).toEqual([]);
  });

  test('is read from where it was confirmed, because the blocks after it may have been replaced', async () => {
    const network = await newNetwork(store.db);
    network.chain.mineEmpty(10);
    network.pay();
    await network.follow();
    await network.lose();
    const added = network.payment();
    network.chain.fork(9, [[added], ...Array.from({ length: 9 }, () => [])]);
    // Past finality, so that no later poll reads these blocks again.
    network.chain.mineEmpty(60);
    await network.follow();
    expect(await network.toldOf(added)).toEqual(['TransferFinalized final', 'TransferProcessed 4']);
  });

  test('is told nothing of it a second time', async () => {
    const network = await newNetwork(store.db);
    const payment = network.pay();
    for (let block = 0; block < 30; block++) {
      network.chain.mine();
      await network.follow(1);
    }
    const before = await network.events();
    expect(await network.toldOf(payment)).toEqual(['TransferFinalized final', 'TransferProcessed 4']);
    await network.lose();
    network.chain.mineEmpty(30);
    await network.follow();
    expect(await network.events()).toEqual(before);
  });
});

/** A model chain with a follower of it on the store, a webhook for 4 confirmations and one for what is final. */
async function newNetwork(db: Database) {
  const networkId = ++lastNetworkId;
  const entityId = await newEntity(db);
  for (const event of ['TransferProcessed', 'TransferFinalized'])
    await register(db, entityId, HOOK, [{ networkId, event }]);
  const sql = `update webhooks set finality = '4' where entity_id = $1 and event = 'TransferProcessed'`;
  await db.transaction((queries) => queries.run(sql, [entityId]));
  const chain = new ModelChain();
  chain.mineEmpty(20);
  const { head } = chain;
  // Nothing of it is read for this source alone: a network that is read again does not read its sources again.
  const progress = { nextBlock: head + 1, lastBlock: head };
  const source = modelSource({ entityId, networkId, createdHead: head, fromBlock: head + 1, ...progress });
  chain.mineEmpty(20);
  let payments = 0;
  const payment = () =>
    chain.transaction({ logs: [{ address: source.contract, topics: [TOPIC], data: wordOf(++payments) }] });
  let follower = newFollower();

  function newFollower(): Follower {
    const clock = { nowMs: () => 0, sleep: () => Promise.resolve() };
    const { exchange } = new ModelNode(chain, { chainId: networkId });
    const node = new Node({ name: 'model', chainId: networkId, exchange, clock, callsPerSecond: 1_000_000 });
    return new Follower({
      store: new NetworkStore(db, 'one', () => Promise.resolve([source])),
      nodes: new Nodes([node]),
      decoder: modelDecoder,
      ...{ networkId, finalityDepth: null, graceBlocks: 3 },
    });
  }

  return {
    chain,
    payment,
    pay: () => {
      const made = payment();
      chain.mine([made]);
      return made;
    },
    follow: async (polls = 8) => {
      for (let poll = 0; poll < polls; poll++) await follower.poll();
    },
    /** As where the tables are restored from an older backup while the service is down. */
    lose: async () => {
      for (const table of ['chains', 'chain_anchors']) {
        await db.transaction((queries) => queries.run(`delete from ${table} where network_id = $1`, [networkId]));
      }
      follower = newFollower();
    },
    events: () =>
      db.all('select fact_id, event, finality, no from fact_events where network_id = $1 order by no', [networkId]),
    toldOf: async ({ hash }: ModelTransaction) => {
      const rows = await db.all<{ event: string; finality: string }>(
        `select e.event, e.finality from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
         where e.network_id = $1 and f.transaction_hash = $2`,
        [networkId, hash],
      );
      return rows.map(({ event, finality }) => `${event} ${finality}`).sort();
    },
  };
}
