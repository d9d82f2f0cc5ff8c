import { describe, expect, test } from 'bun:test';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { modelSource } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';

/** A chain with a payment in every second block, of which a new source reads the past. */
function network(blocks: number, ...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  const nodes = faults.map((each) => new ModelNode(chain, each));
  const head = blocks + 1;
  const sources = [modelSource({ fromBlock: 1, createdHead: head })];
  const options = { nodes: nodes.map(({ exchange }) => exchange), sources, startBlock: head + 1 };
  const followed = new FollowedChain(chain, options);
  for (let block = 0; block < blocks; block++) chain.mine(block % 2 === 0 ? [followed.payment()] : []);
  chain.mineEmpty(20);
  return { chain, nodes, followed, options };
}

describe.each([
  ['100 blocks', { maxBlocks: 100 }],
  ['1,000 results', { maxLogs: 1_000 }],
])('eth_getLogs that is limited to %s', (_, faults) => {
  test('is adapted to within ten calls', async () => {
    const { followed, nodes } = network(20_000, faults);
    await followed.catchUp();
    expect(followed.mistakes()).toEqual([]);
    const ranges = nodes[0]?.ranges ?? [];
    const refusals = ranges.flatMap(({ isRefused }, call) => (isRefused ? [call] : []));
    const large = ranges.filter(({ blocks }) => blocks > 20);
    // One attempt more after 50 good readings, in case that the limit is gone.
    expect(refusals.length).toBeLessThanOrEqual(10);
    expect(refusals.length / large.length).toBeLessThan(0.1);
  });
});

test('the next process asks for no range that the last one saw refused', async () => {
  const { chain, followed, nodes, options } = network(3_000, { maxBlocks: 100 });
  await followed.catchUp();
  const [node] = nodes;
  if (node === undefined) throw new Error('There is a node');
  followed.store.token++;
  const [source] = followed.store.sources;
  if (source === undefined) throw new Error('There is a source');
  followed.store.sources = [source, modelSource({ sourceId: 'src_second', fromBlock: 1, createdHead: chain.head })];
  node.ranges.length = 0;
  const after = new FollowedChain(chain, { ...options, store: followed.store });
  await after.catchUp();
  expect(node.ranges.filter(({ isRefused }) => isRefused)).toEqual([]);
  expect(Math.max(...node.ranges.map(({ blocks }) => blocks))).toBeGreaterThan(75);
});

describe.each([100, 500, 1_000])('a list that ends after %d logs without an error', (cutAt) => {
  test('is noticed, and no payment is missing', async () => {
    const { followed, nodes } = network(4 * cutAt, { cutAt }, { cutAt });
    await followed.catchUp();
    expect(followed.mistakes()).toEqual([]);
    expect(nodes.flatMap(({ ranges }) => ranges).length).toBeGreaterThan(0);
  });

  test('is a whole list if its halves have no more', async () => {
    const { followed, nodes } = network(2 * cutAt, {});
    await followed.catchUp();
    expect(followed.mistakes()).toEqual([]);
    expect(nodes[0]?.ranges.some(({ isRefused }) => isRefused)).toBe(false);
  });
});
