import { expect, test } from 'bun:test';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';

const NOTHING_LEFT_OUT = { responses: 0, logs: 0 };
const ALL_LEFT_OUT = { responses: 100, logs: 100 };

function network(...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  // Every share happens.
  const nodes = faults.map((each) => new ModelNode(chain, each, { below: () => 0 }));
  const followed = new FollowedChain(chain, { nodes: nodes.map(({ exchange }) => exchange), startBlock: 41 });
  return { chain, nodes, followed, store: followed.store };
}

async function mineAndPoll(followed: FollowedChain, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block++) {
    followed.chain.mine();
    await followed.poll();
  }
}

test('a log that the first node never had is found by the second opinion, before its block is final', async () => {
  const { chain, followed, store } = network({ omission: ALL_LEFT_OUT }, {});
  chain.mine([followed.payment(2)]);
  const block = chain.head;
  await followed.poll();
  expect(store.facts.size).toBe(0);
  await mineAndPoll(followed, 16);
  expect(store.facts.size).toBe(2);
  expect(store.state.final).toBeLessThan(block);
  await mineAndPoll(followed, 10);
  expect(store.state.final).toBeGreaterThan(block);
  expect(followed.mistakes()).toEqual([]);
});

test('a log that the second node has not got stands', async () => {
  const { chain, followed, store } = network({}, { omission: ALL_LEFT_OUT });
  chain.mine([followed.payment()]);
  const block = chain.head;
  await mineAndPoll(followed, 40);
  expect(followed.results.some(({ omissions }) => omissions > 0)).toBe(true);
  expect(store.state.final).toBeGreaterThan(block);
  expect(followed.mistakes()).toEqual([]);
});

test('with one node finality rises one poll later, when that node was asked again', async () => {
  const [one, two] = [network({}), network({}, {})];
  await mineAndPoll(one.followed, 10);
  await mineAndPoll(two.followed, 10);
  expect(two.store.state.final).toBe(two.chain.head - 16);
  expect(one.store.state.final).toBe(one.chain.head - 17);
  await one.followed.poll();
  expect(one.store.state.final).toBe(one.chain.head - 16);
});

test('a log that a single node left out at first is found when it is asked again', async () => {
  const { chain, nodes, followed, store } = network({ omission: ALL_LEFT_OUT });
  chain.mine([followed.payment()]);
  await mineAndPoll(followed, 15);
  for (const { faults } of nodes) faults.omission = NOTHING_LEFT_OUT;
  await mineAndPoll(followed, 15);
  expect(store.counts.seen).toBe(1);
  expect(followed.mistakes()).toEqual([]);
});

test('two nodes with different blocks at that height keep it from becoming final', async () => {
  const { chain, nodes, followed, store } = network({}, {});
  await mineAndPoll(followed, 5);
  const { final } = store.state;
  chain.mineEmpty(25);
  chain.fork(
    25,
    Array.from({ length: 26 }, () => []),
  );
  // The second node is still on the branch that was left.
  const [, second] = nodes;
  if (second === undefined) throw new Error('There are two nodes');
  second.faults.lag = 1;
  expect(await followed.poll()).toMatchObject({ outcome: 'followed', disagreements: 1 });
  expect(store.state.final).toBe(final);
  second.faults.lag = 0;
  await followed.pollTimes(3);
  expect(store.state.final).toBe(chain.head - 16);
});

test('a second node that is too far behind is waited for, and then done without', async () => {
  const { chain, followed, store } = network({}, { lag: 35 });
  await mineAndPoll(followed, 3);
  expect(store.state.final).toBe(25);
  await mineAndPoll(followed, 6);
  expect(store.state.final).toBeGreaterThan(25);
  await mineAndPoll(followed, 20);
  expect(store.state.final).toBeGreaterThan(chain.head - 25);
});

test('a second node that fails is done without', async () => {
  const { chain, nodes, followed, store } = network({}, {});
  const [, second] = nodes;
  if (second !== undefined) second.isDown = true;
  await mineAndPoll(followed, 20);
  expect(store.state.final).toBeGreaterThanOrEqual(chain.head - 18);
});

test('a fact of a block that was left is not made final by the second opinion', async () => {
  const { chain, followed, store } = network({}, {});
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  const [fact] = store.facts.values();
  if (fact?.position === null || fact === undefined) throw new Error('There is a fact');
  // As a response that came too late would have left it: in a block that is no more, far below the tail.
  await mineAndPoll(followed, 10);
  fact.position = { ...fact.position, blockHash: `0x${'ee'.repeat(32)}` };
  await mineAndPoll(followed, 12);
  expect(followed.mistakes()).toEqual([]);
  expect(store.counts.moved).toBe(1);
});

test('the blocks of a long finality are confirmed in ranges that the node can give', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(300);
  const nodes = [0, 1].map(() => new ModelNode(chain, { finalized: 200, safe: 100, maxBlocks: 20 }));
  const followed = new FollowedChain(chain, { nodes: nodes.map(({ exchange }) => exchange), startBlock: 301 });
  for (let block = 0; block < 150; block++) chain.mine([followed.payment()]);
  await followed.catchUp();
  for (const { faults } of nodes) faults.finalized = 10;
  await mineAndPoll(followed, 30);
  expect(followed.store.state.final).toBe(chain.head - 10);
  expect(followed.mistakes()).toEqual([]);
});

test('a jump of finality by hundreds of blocks rises it at once', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(300);
  const nodes = [0, 1].map(() => new ModelNode(chain, { finalized: 290, safe: 100 }));
  const followed = new FollowedChain(chain, { nodes: nodes.map(({ exchange }) => exchange), startBlock: 50 });
  await followed.catchUp();
  for (let block = 0; block < 700; block++) {
    chain.mine(block % 7 === 0 ? [followed.payment()] : []);
    await followed.poll();
    for (const { faults } of nodes) faults.finalized = 291 + block;
  }
  expect(followed.store.state.anchors.length).toBeLessThanOrEqual(256);
  for (const { faults } of nodes) faults.finalized = 600;
  await followed.poll();
  expect(followed.store.state.final).toBe(chain.head - 600);
});

test('a tag of another branch makes nothing final', async () => {
  const { chain, followed, store, nodes } = network({});
  await mineAndPoll(followed, 5);
  const { final } = store.state;
  const [node] = nodes;
  const twisted: Exchange = async (payload) => {
    const replies = (await node?.exchange(payload)) as { id: number; result: unknown }[];
    const tags = (payload as { id: number; params: unknown[] }[]).filter(({ params }) => params[0] === 'finalized');
    const ids = new Set(tags.map(({ id }) => id));
    const hash = `0x${'ee'.repeat(32)}`;
    return replies.map((reply) =>
      ids.has(reply.id) ? { ...reply, result: { ...Object(reply.result), hash } } : reply,
    );
  };
  const other = new FollowedChain(chain, { nodes: [twisted], store });
  await mineAndPoll(other, 8);
  expect(other.store.state.final).toBe(final);
  expect(other.results.some(({ disagreements }) => disagreements > 0)).toBe(true);
});
