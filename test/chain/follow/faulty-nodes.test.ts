import { describe, expect, test } from 'bun:test';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { type Answered, balancer, changing, type Faults, ModelNode } from '../../support/chain/model-node.ts';

function network(...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const nodes = faults.map((each) => new ModelNode(chain, each));
  const followed = new FollowedChain(chain, { nodes: nodes.map(({ exchange }) => exchange), startBlock: 41 });
  return { chain, nodes, followed, store: followed.store };
}

describe('case 8: a balancer that alternates with a node five behind', () => {
  test.each([0, 1])('leads to nothing lost and nothing retracted in 500 blocks', async (parity) => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const url = balancer([new ModelNode(chain), new ModelNode(chain, { lag: 5 })]);
    for (let request = 0; request < parity; request++) await url({ id: 1, method: 'eth_chainId', params: [] });
    const followed = new FollowedChain(chain, { nodes: [url], startBlock: 41 });
    await followed.payAndPoll(500);
    await followed.pollTimes(4);
    expect(followed.store.counts).toMatchObject({ seen: 500, lost: 0, retracted: 0, moved: 0 });
    expect(followed.mistakes()).toEqual([]);
  });
});

test('a node that is two blocks behind makes way for another one in the same poll', async () => {
  const { chain, nodes, followed, store } = network({}, {});
  await followed.payAndPoll(3);
  const [first] = nodes;
  if (first === undefined) throw new Error('There are two nodes');
  first.faults.lag = 10;
  await followed.payAndPoll(4);
  expect(followed.results.slice(-4).map(({ outcome, lagBlocks }) => [outcome, lagBlocks])).toEqual(
    Array(4).fill(['followed', 0]),
  );
  expect(store.state.tip?.number).toBe(chain.head);
  expect(store.steps.at(-1)?.nodes.map(({ name, state }) => [name, state])).toEqual([
    ['1#1', 'behind'],
    ['1#2', 'ok'],
  ]);
});

test('a node that fails makes way for another one in the same poll', async () => {
  const { nodes, followed, store } = network({}, {});
  await followed.payAndPoll(3);
  const [first] = nodes;
  if (first !== undefined) first.isDown = true;
  await followed.payAndPoll(3);
  expect(followed.results.slice(-3).map(({ outcome }) => outcome)).toEqual(['followed', 'followed', 'followed']);
  expect(store.steps.at(-1)?.nodes[0]).toMatchObject({ state: 'failing', lastError: 'unreachable' });
  expect(followed.mistakes()).toEqual([]);
});

test('with every node failing, how they are is written and nothing else changes', async () => {
  const { nodes, followed, store } = network({}, {});
  await followed.payAndPoll(3);
  await followed.poll();
  const before = store.state;
  for (const node of nodes) node.isDown = true;
  expect((await followed.poll()).outcome).toBe('failed');
  expect(store.state).toEqual(before);
  expect(store.steps.at(-1)?.nodes.map(({ state }) => state)).toEqual(['failing', 'failing']);
  for (const node of nodes) node.isDown = false;
  await followed.payAndPoll(5);
  expect(store.steps.at(-1)?.nodes.map(({ state }) => state)).toEqual(['ok', 'ok']);
});

test.each([
  ['have no tags', 'null', 'null'],
  ['refuse tags', 'error', 'error'],
  ['have an empty hash for tags', 'zero', 'zero'],
] as const)('nodes that %s keep nothing from being seen, and nothing becomes final', async (_, finalized, safe) => {
  const { followed, store } = network({ finalized, safe });
  await followed.payAndPoll(30);
  expect(followed.mistakes()).toEqual([]);
  expect(store.state).toMatchObject({ final: null, safe: null });
});

test('on a network without tags, blocks become final at the depth that the operator set', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const node = new ModelNode(chain, { finalized: 'error', safe: 'error' });
  const followed = new FollowedChain(chain, { nodes: [node.exchange], startBlock: 41, finalityDepth: 12 });
  await followed.payAndPoll(30);
  const { final } = followed.store.state;
  expect(final).toBeLessThanOrEqual(chain.head - 12);
  // Nodes are asked every few polls, and a lone node has to say it twice.
  expect(final).toBeGreaterThan(chain.head - 12 - 6);
});

test('tags that go down, disappear or fail do not lower a level', async () => {
  const { nodes, followed, store } = network({});
  const [node] = nodes;
  if (node === undefined) throw new Error('There is a node');
  await followed.payAndPoll(30);
  await followed.poll();
  const { safe, final } = store.state;
  for (const tag of [30, 'error', 'null', 'zero'] as const) {
    node.faults.finalized = tag;
    node.faults.safe = tag;
    await followed.payAndPoll(1);
    expect(store.state).toMatchObject({ safe, final });
  }
  expect(followed.mistakes()).toEqual([]);
});

test('a node that calls its head final is believed only where the operator allows it', async () => {
  const { followed, store } = network({ finalized: 0, safe: 0 });
  await followed.payAndPoll(10);
  expect(store.state).toMatchObject({ final: null, safe: null });
  expect(store.steps.at(-1)?.nodes[0]).toMatchObject({ state: 'final_not_credible', finalized: 49 });
  expect(store.steps.at(-1)?.trouble).toEqual({ reason: 'final_waits', node: '1#1' });
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const node = new ModelNode(chain, { finalized: 0, safe: 0 });
  const instant = new FollowedChain(chain, { nodes: [node.exchange], startBlock: 41, leastDepth: 0 });
  await instant.payAndPoll(10);
  expect(instant.store.state.final).toBeGreaterThan(chain.head - 6);
  expect(instant.store.state.final).toBeLessThanOrEqual(chain.head);
  expect(instant.mistakes()).toEqual([]);
});

test('a head without a hash is garbage', async () => {
  const { chain, followed } = network({});
  const empty = { number: '0x50', hash: `0x${'0'.repeat(64)}`, timestamp: '0x1' };
  const zero = changing(new ModelNode(chain).exchange, ({ method }, answer) =>
    method === 'eth_chainId' ? answer : { ...answer, result: empty },
  );
  const alone = new FollowedChain(chain, { nodes: [zero], startBlock: 41 });
  expect((await alone.poll()).outcome).toBe('failed');
  expect(alone.store.state.tip).toBeNull();
  expect(followed.store.state.tip).toBeNull();
});

test.each([1, 3, 10])('a node that gives %d blocks at a time is caught up with and followed', async (maxBlocks) => {
  const { chain, followed } = network({ maxBlocks });
  for (let block = 0; block < 60; block++) chain.mine([followed.payment()]);
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  await followed.payAndPoll(20);
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  chain.fork(
    8,
    Array.from({ length: 9 }, () => [followed.payment()]),
  );
  await followed.catchUp();
  await followed.payAndPoll(6);
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
});

test.each([{ maxLogs: 50 }, { maxSize: 50 }])(
  'a node with %p is asked for fewer blocks, and for more again later',
  async (limit) => {
    const { chain, followed, store } = network(limit);
    for (let block = 0; block < 100; block++) chain.mine([followed.payment(3)]);
    await followed.catchUp();
    expect(followed.mistakes()).toEqual([]);
    expect(store.steps.at(-1)?.rangeBlocks).toBeLessThan(40);
    // Until the blocks with these logs are final, they are read once more in small ranges.
    for (let block = 0; block < 80; block++) {
      chain.mine();
      await followed.poll();
    }
    chain.mineEmpty(400);
    await followed.catchUp();
    expect(store.steps.at(-1)?.rangeBlocks).toBeGreaterThan(40);
    expect(store.paused).toEqual([]);
  },
);

test('a node on another network is never followed', async () => {
  const { followed, store } = network({ chainId: 8453 }, {});
  await followed.payAndPoll(5);
  expect(followed.mistakes()).toEqual([]);
  expect(store.steps.at(-1)?.nodes[0]).toMatchObject({ state: 'wrong_chain', lastError: 'wrong_chain' });
});

test('a log that contradicts its header is in doubt, and is not stored', async () => {
  const { chain, nodes, store } = network({});
  const [node] = nodes;
  if (node === undefined) throw new Error('There is a node');
  const twisted = changing(node.exchange, (_, answer) =>
    Array.isArray(answer.result)
      ? { ...answer, result: answer.result.map((log) => ({ ...log, blockHash: `0x${'ee'.repeat(32)}` })) }
      : answer,
  );
  const followed = new FollowedChain(chain, { nodes: [twisted], startBlock: 41 });
  chain.mine([followed.payment()]);
  expect((await followed.poll()).outcome).toBe('in_doubt');
  expect(followed.store.facts.size).toBe(0);
  expect(store.facts.size).toBe(0);
});

test('logs of another branch with a head of the same height are in doubt, and are not stored', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const [current, late] = [new ModelNode(chain), new ModelNode(chain, { lag: 1 })];
  // Requests for logs reach a node that has not seen the last fork.
  const url: Exchange = (payload) =>
    (JSON.stringify(payload).includes('eth_getLogs') ? late : current).exchange(payload);
  const followed = new FollowedChain(chain, { nodes: [url], startBlock: 41 });
  late.faults.lag = 0;
  await followed.catchUp();
  late.faults.lag = 1;
  const [old, recent] = [followed.payment(), followed.payment()];
  chain.mine([old]);
  chain.fork(1, [[recent]]);
  expect((await followed.poll()).outcome).toBe('in_doubt');
  expect(followed.store.facts.size).toBe(0);
  late.faults.lag = 0;
  expect(await followed.poll()).toMatchObject({ outcome: 'followed', seen: 1 });
  expect(followed.mistakes()).toEqual([]);
});

test('a node that goes from one branch to another between requests stays in favour until the third time', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const [current, late] = [new ModelNode(chain), new ModelNode(chain, { lag: 1 })];
  const url: Exchange = (payload) =>
    (JSON.stringify(payload).includes('eth_getLogs') ? late : current).exchange(payload);
  const followed = new FollowedChain(chain, { nodes: [url, new ModelNode(chain).exchange], startBlock: 41 });
  await followed.payAndPoll(5);
  expect(followed.results.map(({ outcome }) => outcome)).toEqual([
    'in_doubt',
    'in_doubt',
    'in_doubt',
    'followed',
    'followed',
  ]);
});

test.each(['eth_getBlockByNumber:latest', 'eth_getBlockByNumber:0x'])(
  'a node that refuses %s alone is failing after one try',
  async (call) => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const node = new ModelNode(chain);
    let isRefusing = false;
    const url = changing(node.exchange, ({ method, params }, answer) => {
      const [refused = '', block = ''] = call.split(':');
      const isRefused = isRefusing && method === refused && String(params[0]).startsWith(block);
      return isRefused ? ({ id: answer.id, error: { code: -32000 } } as Answered) : answer;
    });
    const followed = new FollowedChain(chain, { nodes: [url], startBlock: 41 });
    await followed.payAndPoll(3);
    isRefusing = true;
    const before = node.requests;
    chain.mine([followed.payment()]);
    expect((await followed.poll()).outcome).toBe('failed');
    expect(node.requests - before).toBeLessThanOrEqual(2);
    isRefusing = false;
    await followed.pollTimes(2);
    expect(followed.mistakes()).toEqual([]);
  },
);
