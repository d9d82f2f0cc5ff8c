import { expect, test } from 'bun:test';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { addressOf, ModelChain, wordOf } from '../../support/chain/model-chain.ts';
import { modelSource, TOPIC } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';

const [QUIET, LOUD] = [addressOf(1), addressOf(2)];
const FLOOD = 20_001;

async function network(faults: Partial<Faults>, contracts: readonly string[] = [QUIET, LOUD], nodeCount = 2) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const nodes = Array.from({ length: nodeCount }, () => new ModelNode(chain, faults));
  const sources = contracts.map((contract, index) =>
    modelSource({ sourceId: `src_${contract.slice(-4)}`, entityId: `entity_${index % 3}`, contract, fromBlock: 41 }),
  );
  const followed = new FollowedChain(chain, {
    nodes: nodes.map(({ exchange }) => exchange),
    ...{ sources, startBlock: 41 },
  });
  chain.mine([followed.payment(1, QUIET)]);
  await followed.catchUp();
  return { chain, nodes, followed, store: followed.store };
}

test.each([
  ['says that there are too many', { maxLogs: 20_000 }],
  ['sends more than is read', { maxSize: 20_000 }],
  ['sends them all', {}],
])('a contract with too many logs in a block is paused where the node %s', async (_, faults) => {
  const { chain, followed, store } = await network(faults);
  chain.mine([followed.payment(1, QUIET), followed.payment(FLOOD, LOUD)]);
  const result = await followed.poll();
  expect(store.paused).toEqual([{ entityId: 'entity_1', sourceId: 'src_0002' }]);
  expect(result).toMatchObject({ outcome: 'followed', paused: 1, seen: 1, lagBlocks: 0 });
  chain.mine([followed.payment(1, QUIET), followed.payment(FLOOD, LOUD)]);
  expect(await followed.poll()).toMatchObject({ seen: 1, paused: 0 });
});

test('the neighbours of a flood in a block are at most one poll late', async () => {
  const contracts = Array.from({ length: 200 }, (_, index) => addressOf(index + 1));
  const { chain, followed, store } = await network({ maxLogs: 20_000 }, contracts);
  for (let block = 0; block < 6; block++) {
    chain.mine(contracts.map((contract) => followed.payment(contract === LOUD ? FLOOD : 1, contract)));
    await followed.poll();
  }
  expect(store.paused).toHaveLength(1);
  expect(store.counts.seen).toBe(1 + 6 * 199);
  expect(store.state.tip?.number).toBe(chain.head);
});

/** Sources of the loud contract for one payee each, and one without conditions. */
function neighbours() {
  const payees = [wordOf(0x51), wordOf(0x52)];
  const narrow = payees.map((payee, index) =>
    modelSource({
      ...{ sourceId: `src_narrow${index}`, entityId: `shop_${index}`, contract: LOUD, fromBlock: 41 },
      topics: [null, null, [payee]],
    }),
  );
  const wide = modelSource({ sourceId: 'src_wide', entityId: 'stranger', contract: LOUD, fromBlock: 41 });
  return { payees, narrow, wide };
}

test.each([
  ['says that there are too many', { maxLogs: 10_000 }, 2],
  ['says that there are too many, as the only one', { maxLogs: 10_000 }, 1],
  ['sends more than is read', { maxSize: 10_000 }, 2],
  ['sends them all', {}, 2],
])('a source without conditions is paused alone where the node %s', async (_, faults, nodeCount) => {
  const { payees, narrow, wide } = neighbours();
  const { chain, followed, store } = await network(faults, [QUIET], nodeCount);
  store.sources.push(wide, ...narrow);
  for (let block = 0; block < 4; block++) {
    const paid = payees.map((payee) => ({ address: LOUD, topics: [TOPIC, wordOf(1), payee], data: wordOf(block) }));
    chain.mine([followed.payment(10_500, LOUD), chain.transaction({ logs: paid })]);
    await followed.poll();
  }
  await followed.poll();
  expect(store.paused).toEqual([{ entityId: 'stranger', sourceId: 'src_wide' }]);
  const seen = [...store.facts.values()].filter(({ entityId }) => entityId.startsWith('shop_'));
  expect(Map.groupBy(seen, ({ entityId }) => entityId).size).toBe(2);
  expect(seen).toHaveLength(8);
  expect(store.state.tip?.number).toBe(chain.head);
});

test('no source is paused if a stranger reads another contract and the token of a shop has 10,500 transfers a block', async () => {
  const { payees, narrow } = neighbours();
  const { chain, followed, store } = await network({ maxLogs: 10_000 }, [QUIET]);
  store.sources.push(...narrow);
  for (let block = 0; block < 3; block++) {
    const paid = { address: LOUD, topics: [TOPIC, wordOf(1), payees[0] ?? ''], data: wordOf(block) };
    chain.mine([followed.payment(10_500, LOUD), chain.transaction({ logs: [paid] })]);
    expect(await followed.poll()).toMatchObject({ outcome: 'followed', seen: 1, paused: 0, lagBlocks: 0 });
  }
  expect(store.paused).toEqual([]);
});

test('a source whose one payee has too many payments is paused, and a source of another payee is not', async () => {
  const { payees, narrow } = neighbours();
  const { chain, followed, store } = await network({ maxLogs: 10_000 }, [QUIET]);
  store.sources.push(...narrow);
  const [busy = '', calm = ''] = payees;
  const logs = Array.from({ length: 10_500 }, (_, n) => ({
    ...{ address: LOUD, topics: [TOPIC, wordOf(1), busy], data: wordOf(n) },
  }));
  chain.mine([chain.transaction({ logs: [...logs, { address: LOUD, topics: [TOPIC, wordOf(1), calm], data: '0x' }] })]);
  expect(await followed.poll()).toMatchObject({ seen: 1, paused: 1 });
  expect(store.paused).toEqual([{ entityId: 'shop_0', sourceId: 'src_narrow0' }]);
});

test('every source that takes too many logs is paused, of whichever entity', async () => {
  const { chain, followed, store } = await network({ maxLogs: 20_000 }, [QUIET, LOUD, LOUD, LOUD]);
  chain.mine([followed.payment(FLOOD, LOUD)]);
  await followed.poll();
  expect(store.paused.map(({ entityId }) => entityId)).toEqual(['entity_1', 'entity_2', 'entity_0']);
});

test('two contracts that flood at once are both paused', async () => {
  const third = addressOf(3);
  const { chain, followed, store } = await network({ maxLogs: 20_000 }, [QUIET, LOUD, third]);
  chain.mine([followed.payment(FLOOD, LOUD), followed.payment(FLOOD, third), followed.payment(1, QUIET)]);
  await followed.poll();
  expect(store.paused.map(({ sourceId }) => sourceId).sort()).toEqual(['src_0002', 'src_0003']);
  expect(store.counts.seen).toBe(2);
});

test('of contracts that can be read one by one and not together, the largest is paused', async () => {
  const contracts = [QUIET, LOUD, addressOf(3), addressOf(4)];
  const { chain, followed, store } = await network({ maxSize: 20_000 }, contracts);
  chain.mine(contracts.map((contract, index) => followed.payment(index === 2 ? 9_000 : 7_000, contract)));
  await followed.catchUp();
  expect(store.paused[0]?.sourceId).toBe('src_0003');
  expect(store.paused.length).toBeLessThanOrEqual(2);
  expect(store.counts.seen).toBeGreaterThan(14_000);
});

test('a node that refuses every question for logs is failing, and no source is paused', async () => {
  const { chain, nodes, followed, store } = await network({});
  for (const { faults } of nodes) faults.maxLogs = -1;
  chain.mine([followed.payment(1, QUIET)]);
  expect((await followed.poll()).outcome).toBe('failed');
  expect(store.paused).toEqual([]);
  expect(store.steps.at(-1)?.nodes[0]).toMatchObject({ state: 'failing', lastError: 'rpc_error' });
});

test('a refusal of a single node is believed when it is repeated by the next poll', async () => {
  const { chain, followed, store } = await network({ maxLogs: 20_000 }, [QUIET, LOUD], 1);
  chain.mine([followed.payment(1, QUIET), followed.payment(FLOOD, LOUD)]);
  expect((await followed.poll()).outcome).toBe('in_doubt');
  expect(store.paused).toEqual([]);
  chain.mine([followed.payment(1, QUIET)]);
  // The rest is read at once, by a poll without a wait before it.
  expect(await followed.poll()).toMatchObject({ outcome: 'followed', paused: 1, seen: 1, lagBlocks: 1 });
  expect(await followed.poll()).toMatchObject({ seen: 1, lagBlocks: 0 });
});

test('a contract whose logs one node refuses and another one has is not paused', async () => {
  const { chain, nodes, followed, store } = await network({});
  const [first] = nodes;
  if (first === undefined) throw new Error('There are two nodes');
  first.faults.maxLogs = 0;
  for (let block = 0; block < 5; block++) {
    chain.mine([followed.payment(1, LOUD), followed.payment(1, QUIET)]);
    await followed.poll();
  }
  expect(store.paused).toEqual([]);
  expect(followed.mistakes()).toEqual([]);
  expect(store.steps.at(-1)?.nodes[0]).toMatchObject({ lastError: 'rpc_error' });
});

test('contracts that a node does not give together are asked for in parts, and none is paused', async () => {
  const contracts = Array.from({ length: 40 }, (_, index) => addressOf(index + 1));
  const { chain, followed, store } = await network({ maxLogs: 300 }, contracts);
  for (let block = 0; block < 5; block++) {
    chain.mine(contracts.map((contract) => followed.payment(20, contract)));
    await followed.catchUp();
  }
  expect(store.paused).toEqual([]);
  expect(followed.mistakes()).toEqual([]);
});

test('a flood in the past of a new source pauses that source alone', async () => {
  const { chain, followed, store } = await network({ maxLogs: 20_000 }, [QUIET]);
  chain.mine([followed.payment(FLOOD, LOUD)]);
  for (let block = 0; block < 40; block++) {
    chain.mine([followed.payment(1, QUIET)]);
    await followed.poll();
  }
  const [calm] = neighbours().narrow;
  const isRead = { nextBlock: 42, lastBlock: 41, fromBlock: 41 };
  if (calm !== undefined) store.sources.push({ ...calm, ...isRead });
  store.sources.push(modelSource({ sourceId: 'src_new', contract: LOUD, fromBlock: 10 }));
  for (let block = 0; block < 20; block++) {
    chain.mine([followed.payment(1, QUIET)]);
    expect((await followed.poll()).seen).toBeGreaterThanOrEqual(1);
  }
  expect(store.paused).toEqual([{ entityId: 'acme', sourceId: 'src_new' }]);
});

test('a block with thousands of logs is written in steps of a thousand, and its tip rises with the last', async () => {
  const { chain, followed, store } = await network({});
  chain.mine([followed.payment(3_500, QUIET)]);
  const steps = store.steps.length;
  await followed.poll();
  const written = store.steps.slice(steps).filter(({ changes }) => changes.length > 0);
  expect(written.map(({ changes }) => changes.length)).toEqual([1_000, 1_000, 1_000, 500]);
  expect(written.map(({ tip }) => tip?.number)).toEqual([41, 41, 41, 42]);
});
