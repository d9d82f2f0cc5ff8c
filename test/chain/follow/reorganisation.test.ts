import { describe, expect, test } from 'bun:test';
import type { PollOutcome } from '../../../src/chain/follow/poll-result.ts';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain, type ModelTransaction } from '../../support/chain/model-chain.ts';
import { modelSource } from '../../support/chain/model-decoder.ts';
import { changing, type Faults, ModelNode } from '../../support/chain/model-node.ts';

/** A network with one payment in every block that was followed up to its head. */
async function followedNetwork(...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  chain.mineEmpty(30);
  const nodes = (faults.length === 0 ? [{}] : faults).map((each) => new ModelNode(chain, each));
  const followed = new FollowedChain(chain, { nodes: nodes.map(({ exchange }) => exchange), startBlock: 31 });
  await followed.catchUp();
  await followed.payAndPoll(20);
  return { chain, followed, nodes, store: followed.store };
}

function stateOf({ store }: FollowedChain, { hash }: ModelTransaction) {
  const fact = [...store.facts.values()].find(({ transactionHash }) => transactionHash === hash);
  return fact && { state: fact.state, block: fact.position?.blockNumber, revision: fact.revision };
}

test('a payment that moves to another block moves, and nothing else happens', async () => {
  const { chain, followed, store } = await followedNetwork();
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  chain.fork(1, [[], [payment]]);
  expect(await followed.poll()).toMatchObject({ moved: 1, lost: 0, reorgDepth: 1 });
  expect(stateOf(followed, payment)).toEqual({ state: 'seen', block: chain.head, revision: 1 });
  // Nodes are asked what is final every few polls.
  await followed.mineAndPoll(24);
  expect(stateOf(followed, payment)).toMatchObject({ state: 'final' });
  expect(store.counts.retracted).toBe(0);
});

test('a payment that moves below the first block of its source is not retracted', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(30);
  const sources = [modelSource({ fromBlock: 31, createdHead: 30 })];
  const nodes = [new ModelNode(chain, {}).exchange];
  const followed = new FollowedChain(chain, { nodes, sources, startBlock: 31 });
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  expect(stateOf(followed, payment)).toMatchObject({ state: 'seen', block: 31 });
  chain.fork(3, [[], [payment], [], []]);
  await followed.poll();
  await followed.mineAndPoll(20);
  expect(stateOf(followed, payment)).toMatchObject({ state: 'final', block: 30, revision: 1 });
  expect(followed.store.counts.retracted).toBe(0);
});

test('a payment that is gone is lost, and is retracted after the grace', async () => {
  const { chain, followed } = await followedNetwork();
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  chain.fork(1, [[], []]);
  expect(await followed.poll()).toMatchObject({ lost: 1, retracted: 0 });
  const states: unknown[] = [];
  for (let block = 0; block < 4; block++) {
    await followed.mineAndPoll(1);
    states.push(stateOf(followed, payment)?.state);
  }
  expect(states).toEqual(['lost', 'lost', 'retracted', 'retracted']);
});

test.each([1, 2, 3])('with %d nodes, 600 payments that a fork drops are retracted after the grace', async (count) => {
  const { chain, followed, nodes, store } = await followedNetwork(...Array.from({ length: count }, () => ({})));
  chain.mine(Array.from({ length: 600 }, () => followed.payment()));
  await followed.poll();
  chain.mine();
  await followed.poll();
  chain.fork(2, [[], [], []]);
  const before = followed.nodes.calls;
  let polls = 0;
  for (; store.counts.retracted < 600 && polls < 20; polls++) await followed.mineAndPoll(1);
  // The grace is three blocks. The calls grow with the blocks above the fork, and not with the payments.
  expect(polls).toBeLessThanOrEqual(6);
  expect(followed.nodes.calls - before).toBeLessThanOrEqual(150);
  expect(store.counts).toMatchObject({ lost: 600, retracted: 600 });
  expect(nodes.map(({ calls }) => calls.get('eth_getTransactionReceipt') ?? 0)).toEqual(Array(count).fill(0));
});

test('a payment that is gone is retracted although the network makes more blocks than a poll reads', async () => {
  const { chain, followed, store } = await followedNetwork({}, {});
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  chain.fork(1, [[], []]);
  await followed.poll();
  for (let poll = 0; poll < 8; poll++) {
    chain.mineEmpty(150);
    await followed.poll();
  }
  expect(store.counts).toMatchObject({ lost: 1, retracted: 1 });
});

test('a payment that is back among more blocks than a poll reads is not retracted, even if nodes leave its log out', async () => {
  const { chain, followed, nodes, store } = await followedNetwork({}, {});
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  for (const { faults } of nodes) faults.omission = { responses: 100, logs: 100 };
  chain.fork(1, [[payment], []]);
  for (let poll = 0; poll < 8; poll++) {
    chain.mineEmpty(150);
    await followed.poll();
  }
  expect(store.counts).toMatchObject({ lost: 1, moved: 1, retracted: 0 });
});

test('a payment that is back within the grace was never retracted', async () => {
  const { chain, followed, store } = await followedNetwork();
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  chain.fork(1, [[], []]);
  await followed.poll();
  await followed.mineAndPoll(2);
  chain.mine([payment]);
  expect(await followed.poll()).toMatchObject({ moved: 1, retracted: 0 });
  await followed.mineAndPoll(10);
  expect(store.counts).toMatchObject({ lost: 1, retracted: 0, again: 0 });
});

test('a payment that is back after its retraction has the next revision', async () => {
  const { chain, followed } = await followedNetwork();
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  chain.fork(1, [[], []]);
  await followed.poll();
  await followed.mineAndPoll(10);
  chain.mine([payment]);
  expect(await followed.poll()).toMatchObject({ again: 1 });
  expect(stateOf(followed, payment)).toEqual({ state: 'seen', block: chain.head, revision: 2 });
});

test('no payment is retracted whose transaction a node still has, even if it leaves the log out every time', async () => {
  const { chain, followed, nodes, store } = await followedNetwork();
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  chain.fork(1, [[], [payment]]);
  for (const { faults } of nodes) faults.omission = { responses: 100, logs: 100 };
  await followed.poll();
  const timestampS = chain.blocks.at(-1)?.timestampS;
  await followed.mineAndPoll(12);
  expect(store.counts.retracted).toBe(0);
  expect(stateOf(followed, payment)).toMatchObject({ state: 'seen', revision: 1 });
  // From the header that shows that the node has the block of the receipt.
  const fact = [...store.facts.values()].find(({ transactionHash }) => transactionHash === payment.hash);
  expect(fact?.position?.blockS).toBe(timestampS);
});

test('no payment is retracted that a fork moved to a block which is final before the payment is looked for', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const node = new ModelNode(chain);
  const followed = new FollowedChain(chain, {
    nodes: [node.exchange],
    startBlock: 41,
    graceBlocks: 20,
    finalityDepth: 4,
  });
  const payment = followed.payment();
  chain.mine();
  chain.mine();
  chain.mine([payment]);
  await followed.catchUp();
  node.faults.omission = { responses: 100, logs: 100 };
  chain.fork(3, [[payment], [], [], []]);
  await followed.mineAndPoll(40);
  expect(followed.store.counts).toMatchObject({ lost: 1, retracted: 0, moved: 1 });
});

test('one response without the transaction is not enough for a retraction', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const node = new ModelNode(chain);
  let forgets = 1;
  const forgetful = changing(node.exchange, ({ method }, answer) => {
    const isForgotten = method.endsWith('Receipt') && forgets-- > 0;
    return isForgotten ? { ...answer, result: null } : answer;
  });
  const followed = new FollowedChain(chain, { nodes: [forgetful], startBlock: 41, graceBlocks: 1 });
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.catchUp();
  node.faults.omission = { responses: 100, logs: 100 };
  chain.fork(1, [[], [payment]]);
  await followed.poll();
  await followed.mineAndPoll(6);
  expect(forgets).toBeLessThan(0);
  expect(followed.store.counts).toMatchObject({ lost: 1, retracted: 0, moved: 1 });
});

test('a transaction that is back without its log is retracted', async () => {
  const { chain, followed } = await followedNetwork();
  const payment = followed.payment();
  chain.mine([payment]);
  await followed.poll();
  // Executed after another one, it fails.
  chain.fork(1, [[{ ...payment, logs: [], isSuccess: false }], []]);
  await followed.poll();
  await followed.mineAndPoll(5);
  expect(stateOf(followed, payment)?.state).toBe('retracted');
});

test('two equal logs of one transaction are two facts, also where a node leaves one out', async () => {
  const { chain, followed, nodes } = await followedNetwork();
  const [log] = followed.payment().logs;
  if (log === undefined) throw new Error('A payment has a log');
  chain.mine([chain.transaction({ logs: [log, log] })]);
  for (const { faults } of nodes) faults.omission = { responses: 100, logs: 100 };
  await followed.poll();
  for (const { faults } of nodes) faults.omission = { responses: 0, logs: 0 };
  await followed.mineAndPoll(3);
  expect(followed.mistakes()).toEqual([]);
});

test.each([1, 2, 5, 6, 7, 8, 12, 15])('a fork of depth %d is found in one poll', async (depth) => {
  const { chain, followed } = await followedNetwork();
  const kept = chain.blocks.slice(-depth).flatMap(({ transactions }) => transactions);
  chain.fork(depth, [kept.slice(0, 1), ...Array.from({ length: depth }, () => [followed.payment()])]);
  expect(await followed.poll()).toMatchObject({ outcome: 'followed', moved: 1, lost: depth - 1, seen: depth });
  await followed.mineAndPoll(8);
  expect(followed.mistakes()).toEqual([]);
});

test('facts of a branch that was left gain no confirmations before they are found to be gone', async () => {
  const { chain, followed, nodes, store } = await followedNetwork();
  for (const { faults } of nodes) faults.maxBlocks = 4;
  chain.fork(
    14,
    Array.from({ length: 30 }, () => []),
  );
  const steps = store.steps.length;
  for (let poll = 0; poll < 20; poll++) await followed.poll();
  for (const { tip, head } of store.steps.slice(steps)) {
    const read = tip?.number ?? 0;
    // The newest payment of the branch that was left was in block 50.
    if (read < 50) expect(head).toBeLessThanOrEqual(Math.max(read, 50));
  }
  expect(followed.mistakes()).toEqual([]);
  expect(store.steps.at(-1)?.head).toBe(chain.head);
});

test('a branch that is shorter is followed when the node stays on it', async () => {
  const { chain, followed } = await followedNetwork();
  const head = chain.head;
  chain.fork(10, [[followed.payment()], []]);
  expect(chain.head).toBe(head - 8);
  const outcomes: string[] = [];
  for (let poll = 0; poll < 4; poll++) outcomes.push((await followed.poll()).outcome);
  expect(outcomes).toEqual(['behind', 'behind', 'behind', 'followed']);
  await followed.mineAndPoll(6);
  expect(followed.mistakes()).toEqual([]);
});

describe('case 11: a reorganisation below finality', () => {
  /** One block below what was final. */
  function forkDeeply({ chain, store }: Awaited<ReturnType<typeof followedNetwork>>): void {
    const depth = chain.head - (store.state.final ?? 0) + 1;
    chain.fork(
      depth,
      Array.from({ length: depth + 1 }, () => []),
    );
  }

  test('halts the network within two polls, and nothing more is written of it', async () => {
    const network = await followedNetwork();
    const { followed, store } = network;
    const facts = structuredClone([...store.facts.values()]);
    forkDeeply(network);
    const outcomes = [(await followed.poll()).outcome, (await followed.poll()).outcome];
    expect(outcomes).toEqual(['in_doubt', 'halted']);
    expect(store.state.haltedReason).toContain(`block ${store.state.final} is final`);
    const steps = store.steps.length;
    await followed.mineAndPoll(5);
    expect(followed.results.slice(-5).map(({ outcome, calls }) => [outcome, calls])).toEqual(
      Array(5).fill(['halted', 0]),
    );
    expect(store.steps.length).toBe(steps);
    expect([...store.facts.values()]).toEqual(facts);
  });

  test('does not halt it where the block at finality is the same', async () => {
    const { chain, followed, store } = await followedNetwork();
    const depth = chain.head - (store.state.final ?? 0);
    chain.fork(
      depth,
      Array.from({ length: depth + 1 }, () => [followed.payment()]),
    );
    await followed.catchUp();
    await followed.mineAndPoll(8);
    expect(store.state.haltedAtMs).toBeNull();
    expect(followed.mistakes()).toEqual([]);
  });

  test('that one of two nodes claims alone does not halt it', async () => {
    const chain = new ModelChain();
    chain.mineEmpty(30);
    const nodes = [new ModelNode(chain), new ModelNode(chain)];
    let first: Exchange = (payload) => nodes[0]?.exchange(payload) ?? Promise.reject(new Error('There is a node'));
    const exchanges: Exchange[] = [(payload) => first(payload), ...nodes.slice(1).map(({ exchange }) => exchange)];
    const followed = new FollowedChain(chain, { nodes: exchanges, startBlock: 31 });
    await followed.catchUp();
    await followed.mineAndPoll(30);
    const other = new ModelChain();
    other.mineEmpty(chain.head + 5);
    // Its blocks have hashes of their own from here on.
    other.fork(
      chain.head,
      Array.from({ length: chain.head + 5 }, () => [other.transaction()]),
    );
    first = new ModelNode(other).exchange;
    const before = followed.results.length;
    await followed.payAndPoll(10);
    const outcomes = followed.results.slice(before).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['in_doubt', ...Array<PollOutcome>(9).fill('followed')]);
    expect(followed.store.steps.at(-1)?.nodes[0]?.state).toBe('wrong_chain');
    const { final } = followed.store.state;
    const pay = async (blocks: number) => {
      await followed.payAndPoll(blocks);
    };
    await pay(60);
    // It is asked again now and then. Until it counts as absent, the other node does not decide alone.
    expect(followed.results.slice(-60).filter(({ disagreements }) => disagreements > 0).length).toBeLessThan(6);
    expect(followed.store.state.final).toBe(final);
    expect(followed.store.steps.at(-1)?.trouble?.reason).toBe('final_waits');
    await pay(300);
    expect(followed.store.state.final).toBeGreaterThan((final ?? 0) + 300);
    expect(followed.mistakes()).toEqual([]);
  });

  test('is followed again from where an operator resumes it', async () => {
    const network = await followedNetwork();
    const { chain, followed, store } = network;
    forkDeeply(network);
    await followed.pollTimes(2);
    const from = (store.state.final ?? 0) - 3;
    store.token++;
    const levels = { final: from - 1, safe: from - 1 };
    store.state = { ...store.state, tip: null, anchors: [], haltedAtMs: null, haltedReason: null, ...levels };
    store.startBlock = from;
    await followed.catchUp();
    await followed.mineAndPoll(8);
    expect(followed.mistakes()).toEqual([]);
    expect(store.counts.retracted).toBeGreaterThan(0);
    expect(chain.head).toBe(store.state.tip?.number ?? 0);
  });
});
