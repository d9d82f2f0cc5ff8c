import { expect, test } from 'bun:test';
import type { FollowedSource } from '../../../src/store/chain/network-store.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { PAYEE, PAYER, presetLog, sourceOf, testDecoder } from '../../support/chain/logs.ts';
import { addressOf, ModelChain } from '../../support/chain/model-chain.ts';
import { modelSource } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';
import { rejection } from '../../support/rejection.ts';

const OLD = modelSource({ sourceId: 'src_old', fromBlock: 1_001 });
const NEW = modelSource({ sourceId: 'src_new', contract: addressOf(2), fromBlock: 1 });

/** A network with payments to two contracts in every block, of which the first one is followed. */
async function network(...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  const nodes = faults.map((each) => new ModelNode(chain, each));
  const exchanges = nodes.map(({ exchange }) => exchange);
  const followed = new FollowedChain(chain, { nodes: exchanges, sources: [OLD], startBlock: 1_001 });
  for (let block = 0; block < 1_020; block++) {
    chain.mine([followed.payment(1, OLD.contract), followed.payment(1, NEW.contract)]);
  }
  await followed.catchUp();
  return { chain, nodes, followed, store: followed.store };
}

function progressOf(followed: FollowedChain, { sourceId }: FollowedSource) {
  const source = followed.store.sources.find((each) => each.sourceId === sourceId);
  return { nextBlock: source?.nextBlock, lastBlock: source?.lastBlock };
}

test('a new source has its older blocks read, and every block once it is there', async () => {
  const { chain, followed, store } = await network({}, {});
  store.sources.push(NEW);
  chain.mine([followed.payment(1, OLD.contract), followed.payment(1, NEW.contract)]);
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  const { nextBlock, lastBlock } = progressOf(followed, NEW);
  expect(nextBlock).toBe((lastBlock ?? 0) + 1);
});

test('a new source from a block after the head needs no older blocks', async () => {
  const { chain, followed, store } = await network({}, {});
  store.sources.push({ ...NEW, fromBlock: chain.head + 1 });
  chain.mine([followed.payment(1, NEW.contract)]);
  expect(await followed.poll()).toMatchObject({ seen: 1, hasBackfill: false });
  expect(followed.mistakes()).toEqual([]);
});

test('each range is read from two nodes, so that a log that one of them leaves out is not missing', async () => {
  const { chain, followed, store } = await network({}, {});
  const leaving = new ModelNode(chain, { omission: { responses: 100, logs: 100 } }, { below: () => 0 });
  const exchanges = [leaving.exchange, new ModelNode(chain).exchange];
  store.sources.push({ ...NEW, fromBlock: 500 });
  const again = new FollowedChain(chain, { nodes: exchanges, store });
  await again.poll();
  await again.catchUp();
  for (let block = 0; block < 40; block++) {
    chain.mine();
    await again.poll();
  }
  expect(followed.mistakes()).toEqual([]);
});

test('a single node is asked twice for each range', async () => {
  const { followed, store, nodes } = await network({});
  const before = nodes[0]?.calls.get('eth_getLogs') ?? 0;
  store.sources.push(NEW);
  const results = await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  const after = nodes[0]?.calls.get('eth_getLogs') ?? 0;
  // The live poll, the second opinion, and one range a poll; both readings of exactly 1,000 logs have 2 halves and 4 quarters.
  expect(after - before).toBeLessThanOrEqual(3 * results.length + 12);
  expect(results.length).toBeGreaterThanOrEqual(4);
});

test('a backfill takes a few calls of a poll, and the live part goes on', async () => {
  const { chain, followed, store } = await network({ maxBlocks: 7 }, { maxBlocks: 7 });
  store.sources.push(NEW);
  for (let block = 0; block < 15; block++) {
    chain.mine([followed.payment(1, OLD.contract)]);
    const { calls, seen, lagBlocks } = await followed.poll();
    expect(seen).toBeGreaterThanOrEqual(1);
    expect(lagBlocks).toBe(0);
    // Every few polls, the nodes are also asked what is final.
    if (block > 10) expect(calls).toBeLessThanOrEqual(20);
  }
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
});

test('several new sources have their turns', async () => {
  const { followed, store } = await network({ maxBlocks: 100 }, { maxBlocks: 100 });
  const sources = [1, 2, 3].map((number) => ({ ...NEW, sourceId: `src_${number}`, entityId: `entity_${number}` }));
  store.sources.push(...sources);
  // A range is halved until the node takes it, and each source then has one in its turn.
  await followed.pollTimes(30);
  const reached = sources.map((source) => progressOf(followed, source).nextBlock ?? 0);
  expect(Math.max(...reached) - Math.min(...reached)).toBeLessThanOrEqual(400);
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
});

test('an entity with twenty new sources delays the new source of another by one range of its own', async () => {
  const { followed, store } = await network({ maxBlocks: 7 }, { maxBlocks: 7 });
  const loud = Array.from({ length: 20 }, (_, at) =>
    modelSource({ entityId: 'ent_loud', sourceId: `src_loud_${at}`, contract: addressOf(100 + at), fromBlock: 1 }),
  );
  store.sources.push(...loud, { ...NEW, entityId: 'ent_neighbour' });
  const isDone = ({ nextBlock, lastBlock }: ReturnType<typeof progressOf>) =>
    (nextBlock ?? 0) > (lastBlock ?? Number.POSITIVE_INFINITY);
  for (let poll = 0; poll < 2_000 && !isDone(progressOf(followed, NEW)); poll++) await followed.poll();
  expect(isDone(progressOf(followed, NEW))).toBe(true);
  const blocksOf = (source: FollowedSource) => (progressOf(followed, source).nextBlock ?? 1) - 1;
  // Each entity had every second range.
  const ofLoud = loud.reduce((sum, source) => sum + blocksOf(source), 0);
  expect(ofLoud).toBeLessThanOrEqual(blocksOf(NEW) + 500);
});

test('a fork below the block at which the live part began is seen by a new source too', async () => {
  const { chain, followed, store } = await network({}, {});
  store.sources.push(NEW);
  await followed.poll();
  chain.fork(
    15,
    Array.from({ length: 16 }, () => [followed.payment(1, NEW.contract), followed.payment(1, OLD.contract)]),
  );
  await followed.catchUp();
  for (let block = 0; block < 8; block++) {
    chain.mine();
    await followed.poll();
  }
  expect(followed.mistakes()).toEqual([]);
});

test('a fork between the reading of older blocks and of newer ones leaves no fact in a block that is gone', async () => {
  for (const depth of [3, 8, 14]) {
    const { chain, followed, store, nodes } = await network({ maxBlocks: 100 }, { maxBlocks: 100 });
    store.sources.push({ ...NEW, fromBlock: 900 });
    await followed.poll();
    const [first] = nodes;
    chain.fork(
      depth,
      Array.from({ length: depth + 2 }, () => [followed.payment(1, NEW.contract)]),
    );
    // The node that reads is still on the branch that was left.
    if (first !== undefined) first.faults.lag = 1;
    await followed.pollTimes(2);
    if (first !== undefined) first.faults.lag = 0;
    await followed.catchUp();
    for (let block = 0; block < 25; block++) {
      chain.mine();
      await followed.poll();
    }
    expect(followed.mistakes()).toEqual([]);
  }
});

test('a payment that a fork removes between two readings of older blocks is not stored', async () => {
  const { chain, followed, store } = await network({});
  // Above finality, and below the tail that live polls read again.
  const [nextBlock, lastBlock] = [chain.head - 12, chain.head - 8];
  store.sources.push({ ...NEW, nextBlock, lastBlock });
  await followed.poll();
  // The blocks of the first reading are gone, and finality has passed them before the second reading.
  chain.fork(
    13,
    Array.from({ length: 14 }, () => []),
  );
  chain.mineEmpty(40);
  await followed.pollTimes(8);
  await followed.catchUp();
  const stored = [...store.facts.values()].filter(({ sourceId }) => sourceId === NEW.sourceId);
  const blocks = stored.map(({ position }) => position?.blockNumber ?? 0);
  expect(blocks.filter((block) => block >= nextBlock && block <= lastBlock)).toEqual([]);
  expect(progressOf(followed, NEW)).toEqual({ nextBlock: lastBlock + 1, lastBlock });
});

test('older blocks of a node on another branch are not stored', async () => {
  const { chain, nodes, followed, store } = await network({}, {});
  const [, second] = nodes;
  if (second === undefined) throw new Error('There are two nodes');
  // The first node reads the blocks, and the second opinion is still to come when they are replaced.
  second.isDown = true;
  store.sources.push({ ...NEW, fromBlock: 1_000 });
  await followed.poll();
  const left = followed.chain.head - 12;
  chain.fork(
    12,
    Array.from({ length: 13 }, () => []),
  );
  second.isDown = false;
  second.faults.lag = 1;
  // A range on which nodes do not agree is read again after a few seconds.
  await followed.pollTimes(10);
  const isNew = ({ sourceId }: { sourceId?: string | null }) => sourceId === NEW.sourceId;
  const seen = [...store.facts.values()].filter((fact) => isNew(fact) && fact.state !== 'lost');
  expect(seen.filter(({ position }) => (position?.blockNumber ?? 0) > left)).toEqual([]);
  expect(store.counts.moved).toBe(0);
  second.faults.lag = 0;
  await followed.catchUp();
  await followed.pollTimes(3);
  chain.mineEmpty(5);
  await followed.pollTimes(3);
  expect(followed.mistakes()).toEqual([]);
});

test('a source that two entities have is read for each', async () => {
  const { followed, store } = await network({}, {});
  store.sources.push({ ...NEW, entityId: 'one' }, { ...NEW, entityId: 'two' });
  await followed.catchUp();
  const counts = ['one', 'two'].map(
    (entityId) => [...store.facts.values()].filter((fact) => fact.entityId === entityId).length,
  );
  expect(counts).toEqual([1_020, 1_020]);
});

test('a follower that goes on elsewhere continues where the older blocks were left', async () => {
  const { followed, store, chain } = await network({ maxBlocks: 64 }, { maxBlocks: 64 });
  store.sources.push(NEW);
  await followed.pollTimes(12);
  const reached = progressOf(followed, NEW).nextBlock ?? 0;
  expect(reached).toBeGreaterThan(1);
  store.token++;
  const other = new FollowedChain(chain, { nodes: [new ModelNode(chain).exchange], store });
  await other.catchUp();
  expect(progressOf(followed, NEW).nextBlock).toBeGreaterThan(reached);
  expect(followed.mistakes()).toEqual([]);
});

test('10,000 old logs are read within few calls', async () => {
  const chain = new ModelChain();
  const node = new ModelNode(chain);
  const second = new ModelNode(chain);
  const followed = new FollowedChain(chain, {
    nodes: [node.exchange, second.exchange],
    sources: [{ ...NEW, fromBlock: 1 }],
    startBlock: 5_001,
  });
  for (let block = 0; block < 5_000; block++) chain.mine([followed.payment(2, NEW.contract)]);
  const results = await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  expect(results.length).toBeLessThanOrEqual(6);
});

/** The blocks of the source's facts, in the order in which they were written. */
function toldBlocks({ store }: FollowedChain, { sourceId }: FollowedSource): number[] {
  return store.steps.flatMap(({ changes }) =>
    changes.flatMap((change) =>
      change.change === 'seen' && change.fact.sourceId === sourceId ? change.fact.position.blockNumber : [],
    ),
  );
}

const TOLD = { ...NEW, deliverHistory: true };

test.each([
  ['two nodes', [{}, {}]],
  ['one node', [{}]],
  ['small ranges', [{ maxBlocks: 7 }, { maxBlocks: 7 }]],
  ['finality far behind', [{ finalized: 700 }, { finalized: 700 }]],
])('history that is told comes in the order of its blocks while the network goes on: %s', async (_, faults) => {
  const { chain, followed, store } = await network(...faults);
  store.sources.push(TOLD);
  for (let block = 0; block < 600; block++) {
    chain.mine([followed.payment(1, NEW.contract)]);
    await followed.poll();
  }
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  const told = toldBlocks(followed, TOLD);
  expect(told).toEqual(Array.from({ length: chain.head }, (_each, index) => index + 1));
  const { nextBlock, lastBlock } = progressOf(followed, TOLD);
  expect(nextBlock).toBe((lastBlock ?? 0) + 1);
});

test('history that is told on a network that stands still is read to its end', async () => {
  const { chain, followed, store } = await network({ finalized: 0 });
  store.sources.push({ ...TOLD, fromBlock: chain.head - 10 });
  await followed.catchUp();
  await followed.pollTimes(3);
  expect(toldBlocks(followed, TOLD)).toEqual(Array.from({ length: 11 }, (_each, index) => chain.head - 10 + index));
  expect(followed.mistakes()).toEqual([]);
});

test('a source that is deleted before its history is told takes no payment along that another source has, too', async () => {
  const { chain, followed, store } = await network({ maxBlocks: 7 }, { maxBlocks: 7 });
  const younger = { ...NEW, sourceId: 'src_younger', fromBlock: chain.head + 1, createdHead: chain.head };
  store.sources.push(TOLD, younger);
  for (let block = 0; block < 60; block++) {
    chain.mine([followed.payment(1, NEW.contract)]);
    await followed.poll();
  }
  expect(progressOf(followed, TOLD).nextBlock).toBeLessThan(younger.fromBlock);
  expect(store.state.final).toBeGreaterThan(younger.fromBlock);
  store.sources = store.sources.filter(({ sourceId }) => sourceId !== TOLD.sourceId);
  await followed.catchUp();
  expect(toldBlocks(followed, younger)).toEqual(Array.from({ length: 60 }, (_each, index) => 1_021 + index));
});

test('a payment belongs to a source that no longer waits, whatever the decoder has seen of it in earlier polls', async () => {
  const definition = { networkId: 1, preset: 'erc20', where: { to: [PAYEE] } } as const;
  const told = { deliverHistory: true, createdHead: 1_000 };
  const chain = new ModelChain();
  chain.mineEmpty(1_000);
  const nodes = [1, 2].map(() => new ModelNode(chain, { maxBlocks: 7 }).exchange);
  const older = sourceOf(definition, { ...told, fromBlock: 1 });
  const younger = sourceOf(definition, { ...told, fromBlock: 1_001 });
  const { decoder } = testDecoder();
  const followed = new FollowedChain(chain, { nodes, sources: [older, younger], startBlock: 1_001, decoder });
  for (let block = 0; block < 60; block++) {
    chain.mine([chain.transaction({ logs: [presetLog('erc20', [PAYER, PAYEE, 5n])] })]);
    await followed.poll();
  }
  expect(progressOf(followed, older).nextBlock).toBeLessThan(1_001);
  expect(followed.store.state.final).toBeGreaterThan(1_001);
  followed.store.sources = followed.store.sources.filter(({ sourceId }) => sourceId !== older.sourceId);
  await followed.catchUp();
  expect(toldBlocks(followed, younger)).toEqual(Array.from({ length: 60 }, (_each, index) => 1_001 + index));
});

test('history that is told survives forks: what moves above it is neither lost nor told twice', async () => {
  const { chain, followed, store } = await network({}, {});
  store.sources.push(TOLD);
  for (let round = 0; round < 40; round++) {
    const payments = Array.from({ length: 4 }, () => followed.payment(1, NEW.contract));
    for (const payment of payments) chain.mine([payment]);
    await followed.poll();
    chain.fork(4, [[], ...payments.map((payment) => [payment])]);
    await followed.poll();
  }
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  expect(store.counts.retracted).toBe(0);
});

test('a commit that fails while two sources join the tail leaves no payment unread', async () => {
  const chain = new ModelChain();
  const nodes = [1, 2].map(() => new ModelNode(chain, { finalized: 700 }).exchange);
  const sources = [2, 3].map((number) => ({ ...TOLD, sourceId: `src_${number}`, contract: addressOf(number) }));
  const followed = new FollowedChain(chain, { nodes, sources: [OLD] });
  const { store } = followed;
  for (let block = 0; block < 250; block++) {
    chain.mine(sources.map(({ contract }) => followed.payment(8, contract)));
    if (block > 230) await followed.poll();
  }
  store.sources.push(...sources);
  // The backfill reads the blocks of the first source, and the next live poll those of the second, because both are near.
  await followed.poll();
  let commits = 0;
  store.onCommit = ({ changes }) => {
    if (changes.length > 0 && ++commits === 2) throw new Error('The database does not answer');
  };
  expect(await rejection(followed.poll())).toMatchObject({ message: 'The database does not answer' });
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
  const inOrder = Array.from({ length: 2_000 }, (_, index) => 1 + Math.floor(index / 8));
  expect(sources.map((source) => toldBlocks(followed, source))).toEqual([inOrder, inOrder]);
});
