import { expect, test } from 'bun:test';
import { positionOf } from '../../../src/chain/follow/compare.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

const BLOCKS = 5_000;
const LOGS = 10_005;
/** What a node takes in five seconds at ten calls a second. */
const CALLS_IN_5_S = 60;

async function behind(nodeCount: number) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const nodes = Array.from({ length: nodeCount }, () => new ModelNode(chain));
  const followed = new FollowedChain(chain, { nodes: nodes.map(({ exchange }) => exchange), startBlock: 41 });
  await followed.catchUp();
  // A list of exactly 2,000 logs would be read in halves too, because a provider may have cut it off.
  for (let block = 0; block < BLOCKS; block++) chain.mine([followed.payment(block % 1_000 === 0 ? 3 : 2)]);
  return { chain, followed, nodes, store: followed.store };
}

test.each([1, 2])(
  'case 13: with %d nodes, 5,000 blocks and their logs behind are read in few polls',
  async (nodeCount) => {
    const { followed, store } = await behind(nodeCount);
    const results = await followed.catchUp();
    expect(store.counts.seen).toBe(LOGS);
    expect(followed.mistakes()).toEqual([]);
    expect(results.length).toBeLessThanOrEqual(4);
    expect(results.reduce((sum, { calls }) => sum + calls, 0)).toBeLessThanOrEqual(CALLS_IN_5_S / 2);
    expect(store.steps.filter(({ changes }) => changes.length > 1_000)).toEqual([]);
  },
);

test('what is written is in the order of the chain, and each tip is a block that is complete', async () => {
  const { followed, store, chain } = await behind(1);
  await followed.catchUp();
  const positions = store.steps.flatMap(({ changes }) => changes.flatMap((change) => positionOf(change) ?? []));
  const sorted = positions.toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  expect(positions).toEqual(sorted);
  const seen = new Set<number>();
  for (const { changes, tip } of store.steps) {
    for (const change of changes) seen.add(positionOf(change)?.blockNumber ?? 0);
    if (tip !== null && tip.number > 40) {
      expect(chain.blocks[tip.number]?.hash).toBe(tip.hash);
      expect(Math.max(...seen)).toBeLessThanOrEqual(tip.number);
    }
  }
});

test('a follower that ends between two steps is continued without a gap', async () => {
  const { chain, followed, store } = await behind(1);
  const commit = store.commit.bind(store);
  let left = 4;
  store.commit = (lease, step) => (left-- > 0 ? commit(lease, step) : Promise.reject(new Error('killed')));
  await Promise.allSettled([followed.poll()]);
  expect(store.counts.seen).toBeGreaterThan(1_000);
  store.commit = commit;
  store.token++;
  const next = new FollowedChain(chain, { nodes: [new ModelNode(chain).exchange], store });
  await next.catchUp();
  expect(store.counts.seen).toBe(LOGS);
  expect(next.mistakes()).toEqual([]);
});

test('a lost cursor tells of no fact twice', async () => {
  const { followed, store, chain } = await behind(2);
  await followed.catchUp();
  await followed.pollTimes(3);
  store.token++;
  store.state = { ...store.state, tip: null, anchors: [], head: null, safe: null, final: null };
  store.startBlock = chain.head - 30;
  const before = { ...store.counts };
  const next = new FollowedChain(chain, { nodes: [new ModelNode(chain).exchange], store });
  await next.catchUp();
  expect(store.counts).toEqual(before);
  expect(next.mistakes()).toEqual([]);
});

test('after it has caught up, a poll reads the tail and not everything again', async () => {
  const { chain, followed, store } = await behind(1);
  await followed.catchUp();
  for (let block = 0; block < 20; block++) {
    const asked: number[] = [];
    const factsIn = store.factsIn.bind(store);
    store.factsIn = (network, from, to) => {
      asked.push(from);
      return factsIn(network, from, to);
    };
    chain.mine([followed.payment()]);
    await followed.poll();
    store.factsIn = factsIn;
    expect(chain.head - Math.max(...asked)).toBeLessThan(30);
  }
});
