import { describe, expect, test } from 'bun:test';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain, wordOf } from '../../support/chain/model-chain.ts';
import { modelSource, TOPIC } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';
import {
  FIRST,
  LONE,
  PAIRS_OF_FIVE,
  PAIRS_OF_THREE,
  tryCase,
  type WitnessCase,
} from '../../support/chain/witness-cases.ts';
import { suiteRuns } from '../../support/suite.ts';

/** Nodes are witnesses: none of them decides alone what is final, which branch is followed, or whether a payment exists. */

const SEEDS = Array.from({ length: suiteRuns(1, 3) }, (_, index) => index + 1);
/** One of so many cases is in the short suite. */
const some = (cases: readonly WitnessCase[], short: number) =>
  cases.filter((_, index) => index % suiteRuns(short, 1) === 0).map((one) => [one.name, one] as const);

test.each([...some(LONE, 3), ...some(FIRST, 8), ...some(PAIRS_OF_THREE, 36), ...some(PAIRS_OF_FIVE, 36)])(
  'of %s make nothing false, leave nothing out and miss no alert',
  async (_, one) => {
    for (const seed of SEEDS) expect((await tryCase(one, seed, suiteRuns(40, 80))).mistakes).toEqual([]);
  },
);

test('a node that refuses every third request does not keep finality waiting when it is its turn', async () => {
  const nodes = ['invents', 'refuses', 'honest', 'honest', 'honest'] as const;
  const { trial, mistakes } = await tryCase({ name: 'five nodes', nodes, isComplete: true }, 1, 80);
  expect(mistakes).toEqual([]);
  expect(trial.finalLate).toBeLessThanOrEqual(12);
});

function network(...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const nodes = faults.map((each) => new ModelNode(chain, each));
  const exchanges = nodes.map(({ exchange }) => exchange);
  const followed = new FollowedChain(chain, { nodes: exchanges, startBlock: 41 });
  return { chain, nodes, followed, store: followed.store };
}

describe('the leader', () => {
  test('that stops without an error is left within three block times', async () => {
    const { chain, nodes, followed, store } = network({}, {});
    await followed.payAndPoll(20);
    const [first, second] = nodes;
    first?.freeze();
    const before = second?.requests ?? 0;
    for (let block = 1; block <= 4; block++) {
      chain.mine([followed.payment()]);
      await followed.poll();
      if (store.state.tip?.number === chain.head) break;
      expect(block).toBeLessThanOrEqual(3);
    }
    expect(store.state.tip?.number).toBe(chain.head);
    expect(second?.requests).toBeGreaterThan(before);
    await followed.payAndPoll(8);
    expect(store.steps.at(-1)?.nodes.map(({ state }) => state)).toEqual(['frozen', 'ok']);
    expect(followed.mistakes()).toEqual([]);
  });

  test('stays for half a minute if another node is only one block ahead', async () => {
    const { nodes, followed } = network({}, {});
    await followed.payAndPoll(20);
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('There are two nodes');
    first.faults.lag = 1;
    await followed.payAndPoll(10);
    expect(followed.nodes.preferred?.name).toBe('1#2');
    first.faults.lag = 0;
    second.faults.lag = 1;
    await followed.payAndPoll(4);
    expect(followed.nodes.preferred?.name).toBe('1#2');
    await followed.payAndPoll(20);
    expect(followed.nodes.preferred?.name).toBe('1#1');
  });

  test('is not a node whose head is far above all others', async () => {
    const { chain, followed, store } = network({}, {});
    const other = new ModelChain();
    other.mineEmpty(5_000);
    const liar = new ModelNode(other);
    const three = new FollowedChain(chain, {
      nodes: [liar.exchange, new ModelNode(chain).exchange, new ModelNode(chain).exchange],
      store,
    });
    await followed.payAndPoll(5);
    await three.payAndPoll(40);
    expect(three.mistakes()).toEqual([]);
    expect(store.state.haltedAtMs).toBeNull();
  });

  test('is asked for, although the clock of this machine is behind', async () => {
    const { followed } = network({ aheadS: 200_000_000 }, { aheadS: 200_000_000 });
    await followed.payAndPoll(30);
    expect(followed.mistakes()).toEqual([]);
  });
});

describe('the branch', () => {
  test('that two of three nodes have is followed, whichever node leads', async () => {
    const { chain, nodes, followed, store } = network({}, {}, {});
    await followed.payAndPoll(20);
    const [first] = nodes;
    const left = followed.payment();
    chain.mine([left]);
    first?.freeze();
    await followed.poll();
    chain.fork(1, [[followed.payment()], [followed.payment()]]);
    await followed.payAndPoll(6);
    expect(store.state.tip?.number).toBe(chain.head);
    expect(followed.mistakes().filter((mistake) => !mistake.startsWith('extra'))).toEqual([]);
  });

  test('that was left without a payment in it leaves no block that could become final', async () => {
    const { chain, nodes, followed, store } = network({}, {}, {});
    for (let block = 0; block < 8; block++) {
      chain.mine();
      await followed.poll();
    }
    nodes[0]?.freeze();
    await followed.poll();
    chain.fork(3, [[], [], [], []]);
    for (let poll = 0; store.state.tip?.number !== chain.head && poll < 10; poll++) await followed.poll();
    expect(store.state.tip?.hash).toBe(chain.blocks.at(-1)?.hash);
    const hashes = new Set(chain.blocks.map(({ hash }) => hash));
    expect(store.state.anchors.filter(({ hash }) => !hashes.has(hash))).toEqual([]);
  });
});

/** A chain with other blocks than this one, and a longer one. */
function otherThan(chain: ModelChain): ModelChain {
  const other = new ModelChain();
  other.mineEmpty(chain.head + 5);
  other.fork(
    chain.head,
    Array.from({ length: chain.head + 5 }, () => [other.transaction()]),
  );
  return other;
}

describe('another block at finality', () => {
  test('that two of three nodes have halts the network, although the third one leads', async () => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const honest = Array.from({ length: 3 }, () => new ModelNode(chain).exchange);
    let others: Exchange | null = null;
    const exchanges = honest.map(
      (exchange, index): Exchange =>
        (payload) =>
          (index > 0 && others !== null ? others : exchange)(payload),
    );
    const followed = new FollowedChain(chain, { nodes: exchanges, startBlock: 41 });
    await followed.payAndPoll(40);
    others = new ModelNode(otherThan(chain)).exchange;
    const { final } = followed.store.state;
    await followed.payAndPoll(30);
    expect(followed.results.at(-1)?.outcome).toBe('halted');
    // Too few nodes have the blocks after it.
    expect(followed.store.state.final).toBe(final);
  });

  test.each([0, 1])('that one of three nodes has from the start does not decide (node %d)', async (wrong) => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const other = otherThan(chain);
    const exchanges = [0, 1, 2].map((index) => new ModelNode(index === wrong ? other : chain).exchange);
    const followed = new FollowedChain(chain, { nodes: exchanges, startBlock: 41 });
    await followed.payAndPoll(40);
    expect(followed.store.state.haltedAtMs).toBeNull();
    expect(followed.store.state.final).toBeGreaterThan(50);
    expect(followed.mistakes()).toEqual([]);
  });

  test('that one of two nodes has from the start keeps the network from starting', async () => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const exchanges = [chain, otherThan(chain)].map((each) => new ModelNode(each).exchange);
    const followed = new FollowedChain(chain, { nodes: exchanges, startBlock: 41 });
    await followed.payAndPoll(20);
    expect(followed.store.state).toMatchObject({ tip: null, final: null });
  });
});

const FAKE = { address: modelSource().contract, topics: [TOPIC], data: wordOf(0xfa_fa_fa) };
const FAKE_HASH = wordOf(0xfa_ce);

/** Adds a log to one block. */
const inventsIn =
  (block: number): Faults['invents'] =>
  ({ number, hash }) =>
    number === block
      ? [{ ...FAKE, blockNumber: number, blockHash: hash, transactionHash: FAKE_HASH, logIndex: 99 }]
      : [];
const invents = inventsIn(45);

function fakeOf({ store }: FollowedChain) {
  const fact = [...store.facts.values()].find(({ transactionHash }) => transactionHash === FAKE_HASH);
  return fact && { state: fact.state, isDisputed: fact.isDisputed, votes: fact.votes };
}

describe('a log that one node invents in a real block', () => {
  test.each([
    ['leader', [{ invents }, {}]],
    ['other', [{}, { invents }]],
  ])('is disputed with two nodes, if the %s does it', async (_, faults) => {
    const { followed, store } = network(...faults);
    await followed.payAndPoll(60);
    expect(fakeOf(followed)).toMatchObject({ state: 'seen', isDisputed: true });
    expect(store.state.final).toBeGreaterThan(50);
    expect(store.counts.retracted).toBe(0);
  });

  test('does not become final while the other one of two nodes is on another chain', async () => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const honest = new ModelNode(chain).exchange;
    let first = honest;
    const liar = new ModelNode(chain, { invents: inventsIn(65) }).exchange;
    const followed = new FollowedChain(chain, { nodes: [(payload) => first(payload), liar], startBlock: 41 });
    await followed.payAndPoll(20);
    first = new ModelNode(otherThan(chain)).exchange;
    await followed.payAndPoll(100);
    expect(followed.store.steps.at(-1)?.nodes[0]?.state).toBe('wrong_chain');
    expect(fakeOf(followed)?.state).toBe('seen');
    first = honest;
    await followed.payAndPoll(60);
    expect(fakeOf(followed)?.state).not.toBe('final');
    expect(followed.store.state.final).toBeGreaterThan(150);
    expect(followed.mistakes()).toEqual([]);
  });

  test('is retracted with three nodes, for good and with its reason', async () => {
    const { followed, store } = network({ invents }, {}, {});
    const reasons: string[] = [];
    store.onRetraction = (_fact, _tip, reason) => reasons.push(reason);
    await followed.payAndPoll(80);
    expect(fakeOf(followed)?.state).toBe('retracted');
    expect(reasons).toEqual(['not_on_chain']);
    expect(store.counts.again).toBe(0);
    // The node that invented it does not lead any more.
    expect(followed.nodes.preferred?.name).not.toBe('1#1');
  });

  test('is not stored with three nodes, if a node does it that does not lead', async () => {
    const { followed } = network({}, { invents }, {});
    await followed.payAndPoll(60);
    expect(fakeOf(followed)).toBeUndefined();
  });

  test('is final if most nodes invent it', async () => {
    const { followed } = network({ invents }, { invents }, {});
    await followed.payAndPoll(60);
    expect(fakeOf(followed)?.state).toBe('final');
  });
});

describe('a payment that one node denies', () => {
  const denied = (chain: ModelChain) => chain.blocks[45]?.transactions[0]?.hash ?? '';

  async function deniedBy(count: number, denier: number) {
    const { chain, nodes, followed, store } = network(...Array.from({ length: count }, () => ({})));
    const node = nodes[denier];
    if (node !== undefined) node.faults.denies = (hash) => hash === denied(chain);
    await followed.payAndPoll(60);
    const fact = [...store.facts.values()].find(({ transactionHash }) => transactionHash === denied(chain));
    return { fact, store, node, followed };
  }

  test.each([0, 1])('of two is disputed, neither final nor retracted (node %d)', async (denier) => {
    const { fact, store, node, followed } = await deniedBy(2, denier);
    expect(fact).toMatchObject({ state: 'seen', isDisputed: true, revision: 1 });
    expect(store.counts.retracted).toBe(0);
    expect(store.state.final).toBeGreaterThan(60);
    // A node that has come to its senses ends the dispute.
    if (node !== undefined) node.faults.denies = () => false;
    await followed.payAndPoll(40);
    expect(fact).toMatchObject({ state: 'final', isDisputed: false });
  });

  test('is not retracted if two nodes deny it at different times', async () => {
    const { chain, nodes, followed, store } = network({}, {}, {});
    const [, second, third] = nodes;
    if (second === undefined || third === undefined) throw new Error('there are three nodes');
    const fact = () => [...store.facts.values()].find(({ transactionHash }) => transactionHash === denied(chain));
    second.faults.denies = (hash) => hash === denied(chain);
    third.faults.lag = 30;
    for (let blocks = 0; blocks < 60 && !fact()?.votes.no.length; blocks++) await followed.payAndPoll(1);
    expect(fact()).toMatchObject({ state: 'seen', votes: { no: ['1#2'] } });
    second.isDown = true;
    third.faults.lag = 0;
    third.faults.denies = (hash) => hash === denied(chain);
    await followed.payAndPoll(60);
    expect(store.counts.retracted).toBe(0);
    second.isDown = false;
    second.faults.denies = () => false;
    await followed.payAndPoll(60);
    expect(store.counts.retracted).toBe(0);
    expect(fact()).toMatchObject({ state: 'final', isDisputed: false, revision: 1 });
  });

  test.each([0, 1, 2])('of three is final (node %d)', async (denier) => {
    const { fact, store } = await deniedBy(3, denier);
    expect(fact).toMatchObject({ state: 'final', isDisputed: false, revision: 1 });
    expect(store.counts.retracted).toBe(0);
  });
});
