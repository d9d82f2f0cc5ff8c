import type { Decoder } from '../../../src/chain/evm/decode/decoder.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../src/chain/evm/reader.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { createTenant } from '../api.ts';
import { register, setFinality } from '../webhooks.ts';
import { ModelChain, type ModelTransaction, wordOf } from './model-chain.ts';
import { modelDecoder, modelSource, TOPIC } from './model-decoder.ts';
import { ModelNode } from './model-node.ts';

const HOOK = 'https://hooks.example.com/paybell';
const POLL_MS = 2_000;
let lastNetworkId = 7_000;

/** A model chain with a follower of it on the store, a webhook for 4 confirmations and one for what is final. */
export async function newStoredNetwork(
  db: Database,
  nodeCount = 1,
  { decoder = modelDecoder, blockTimeS = 2 }: { decoder?: Decoder; blockTimeS?: number } = {},
) {
  const networkId = ++lastNetworkId;
  const tenant = await createTenant(db);
  const { entityId } = tenant;
  for (const event of ['TransferProcessed', 'TransferFinalized'])
    await register(db, entityId, HOOK, [{ networkId, event }]);
  await setFinality(db, entityId, { event: 'TransferProcessed' }, '4');
  const chain = new ModelChain(blockTimeS);
  chain.mineEmpty(20);
  const { head } = chain;
  // Nothing of it is read for this source alone: a network that is read again does not read its sources again.
  const progress = { nextBlock: head + 1, lastBlock: head };
  const source = modelSource({ entityId, networkId, createdHead: head, fromBlock: head + 1, ...progress });
  chain.mineEmpty(20);
  let payments = 0;
  const payment = () =>
    chain.transaction({ logs: [{ address: source.contract, topics: [TOPIC], data: wordOf(++payments) }] });
  const models = Array.from({ length: nodeCount }, () => new ModelNode(chain, { chainId: networkId }));
  let ms = 0;
  let follower = newFollower();

  function newFollower(): Follower {
    const clock = { nowMs: () => ms, sleep: () => Promise.resolve() };
    const nodes = models.map(
      ({ exchange }, index) =>
        new Node({
          name: `model#${index + 1}`,
          identity: evmIdentity(networkId),
          exchange,
          clock,
          callsPerSecond: 1_000_000,
        }),
    );
    return new Follower({
      store: new NetworkStore(db, 'one', () => Promise.resolve([source])),
      nodes: new Nodes(nodes),
      reader: new EvmReader(decoder),
      ...{ networkId, finalityDepth: null, graceBlocks: 3, leastDepth: 1, quorum: null, clock },
    });
  }

  const follow = async (polls = 8) => {
    const outcomes: string[] = [];
    for (let poll = 0; poll < polls; poll++) {
      ms += POLL_MS;
      outcomes.push((await follower.poll()).outcome);
    }
    return outcomes;
  };

  return {
    networkId,
    tenant,
    models,
    source,
    chain,
    payment,
    pay: () => {
      const made = payment();
      chain.mine([made]);
      return made;
    },
    follow,
    /** One block after another, each with a poll. */
    followBlocks: async (count: number) => {
      for (let block = 0; block < count; block++) {
        chain.mine();
        await follow(1);
      }
    },
    /** Accepts the events that wait. */
    acceptFacts: async () => {
      const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
      const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
      while ((await acceptFactEvents(db, networkId, options)) > 0);
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
    eventsOf: async ({ hash }: ModelTransaction) => {
      const rows = await db.all<{ event: string; finality: string }>(
        `select e.event, e.finality from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
         where e.network_id = $1 and f.transaction_hash = $2`,
        [networkId, hash],
      );
      return rows.map(({ event, finality }) => `${event} ${finality}`).sort();
    },
  };
}
