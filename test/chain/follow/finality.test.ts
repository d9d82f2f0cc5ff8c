import { describe, expect, test } from 'bun:test';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { type Answered, changing, type Faults, ModelNode, type RpcRequest } from '../../support/chain/model-node.ts';

const NOTHING_LEFT_OUT = { responses: 0, logs: 0 };
const ALL_LEFT_OUT = { responses: 100, logs: 100 };
/** Polls of ten minutes, for which an absent node is waited for. */
const TEN_MINUTES = 300;

type Options = Partial<ConstructorParameters<typeof FollowedChain>[1]>;

function networkWith(options: Options, ...faults: Partial<Faults>[]) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  // Every share happens.
  const nodes = faults.map((each) => new ModelNode(chain, each, { below: () => 0 }));
  const exchanges = nodes.map(({ exchange }) => exchange);
  const followed = new FollowedChain(chain, { nodes: exchanges, startBlock: 41, ...options });
  return { chain, nodes, followed, store: followed.store };
}

const network = (...faults: Partial<Faults>[]) => networkWith({}, ...faults);

/** Each block has a payment, so that something waits for finality. */
function healthOf({ store }: FollowedChain) {
  return store.steps.at(-1)?.nodes.map(({ state }) => state);
}

/** How far finality is from where an honest node has it. */
function late({ chain, store }: FollowedChain): number {
  return chain.head - 16 - (store.state.final ?? 0);
}

describe('the height', () => {
  test.each([1, 2, 3, 5])('of %d honest nodes is final a few polls later', async (count) => {
    const { followed } = network(...Array.from({ length: count }, () => ({})));
    await followed.payAndPoll(40);
    expect(late(followed)).toBeGreaterThanOrEqual(0);
    expect(late(followed)).toBeLessThanOrEqual(6);
    expect(followed.mistakes()).toEqual([]);
  });

  test.each([
    ['the first', [{ finalized: 2 }, {}]],
    ['the second', [{}, { finalized: 2 }]],
  ])('is the lower one of two nodes if %s claims too much', async (_, faults) => {
    const { followed } = network(...faults);
    await followed.payAndPoll(40);
    expect(late(followed)).toBeGreaterThanOrEqual(0);
    expect(late(followed)).toBeLessThanOrEqual(6);
  });

  test('of a lone node has to be claimed at two heads', async () => {
    const { chain, followed, store } = network({});
    await followed.catchUp();
    chain.mine([followed.payment()]);
    await followed.poll();
    const { final } = store.state;
    await followed.pollTimes(10);
    expect(store.state.final).toBe(final);
    await followed.payAndPoll(5);
    expect(store.state.final).toBeGreaterThan(final ?? 0);
  });

  test('of a lone node stays at the depth that two nodes have taught', async () => {
    const { nodes, followed, store } = network({}, {});
    await followed.payAndPoll(30);
    expect(store.state.learnedDepth.least).toBe(16);
    const [first, second] = nodes;
    if (first !== undefined) first.faults.finalized = 2;
    if (second !== undefined) second.isDown = true;
    await followed.payAndPoll(TEN_MINUTES + 20);
    expect(late(followed)).toBeGreaterThanOrEqual(0);
    expect(late(followed)).toBeLessThanOrEqual(6);
  });

  test('is not one that is too near to the head of its node', async () => {
    const { followed, store } = networkWith({ leastDepth: 32 }, { finalized: 31 }, { finalized: 32 });
    await followed.payAndPoll(30);
    expect(store.state.final).toBeNull();
    expect(healthOf(followed)).toEqual(['final_not_credible', 'ok']);
    expect(store.steps.at(-1)?.trouble).toEqual({ reason: 'final_waits', node: '1#1' });
  });

  test('needs as many nodes as CHAIN_QUORUM fixes, even if one is absent for long', async () => {
    const { nodes, followed, store } = networkWith({ quorum: 2 }, {}, {});
    await followed.payAndPoll(30);
    const { final } = store.state;
    const [, second] = nodes;
    if (second !== undefined) second.isDown = true;
    await followed.payAndPoll(TEN_MINUTES + 20);
    expect(store.state.final).toBeLessThanOrEqual((final ?? 0) + 16);
  });

  test('does not fall, even if every node claims less', async () => {
    const { nodes, followed, store } = network({}, {});
    await followed.payAndPoll(30);
    const { final } = store.state;
    for (const { faults } of nodes) faults.finalized = 30;
    await followed.payAndPoll(5);
    expect(store.state.final).toBe(final);
  });
});

describe('a second node', () => {
  test.each([
    ['fails', (node: ModelNode) => Object.assign(node, { isDown: true })],
    ['freezes', (node: ModelNode) => node.freeze()],
    ['calls nothing final', ({ faults }: ModelNode) => Object.assign(faults, { finalized: 'error' })],
  ])('that %s is waited for ten minutes, and then done without', async (_, begin) => {
    const { chain, nodes, followed, store } = network({}, {});
    await followed.payAndPoll(30);
    const [, second] = nodes;
    if (second !== undefined) begin(second);
    const { final } = store.state;
    await followed.payAndPoll(TEN_MINUTES - 30);
    expect(store.state.final).toBeLessThanOrEqual((final ?? 0) + 20);
    expect(store.steps.at(-1)?.trouble).toEqual({ reason: 'final_waits', node: '1#2' });
    await followed.payAndPoll(100);
    expect(store.state.final).toBeGreaterThan(chain.head - 60);
    expect(store.steps.at(-1)?.trouble).toBeNull();
    expect(followed.mistakes()).toEqual([]);
  });

  test('that lags makes finality later, and no longer does so after ten minutes', async () => {
    const { nodes, followed } = network({}, {});
    await followed.payAndPoll(30);
    const [, second] = nodes;
    if (second !== undefined) second.faults.lag = 20;
    await followed.payAndPoll(TEN_MINUTES - 30);
    expect(late(followed)).toBeGreaterThanOrEqual(20);
    expect(healthOf(followed)).toEqual(['ok', 'behind']);
    await followed.payAndPoll(60);
    expect(late(followed)).toBeLessThanOrEqual(8);
  });

  test('finds a log that the first one never had, soon after its block', async () => {
    const { chain, followed, store } = network({ omission: ALL_LEFT_OUT }, {});
    chain.mine([followed.payment(2)]);
    await followed.payAndPoll(12);
    expect([...store.facts.values()].filter(({ position }) => position?.blockNumber === 41)).toHaveLength(2);
    await followed.payAndPoll(30);
    expect(late(followed)).toBeLessThanOrEqual(12);
    expect(store.counts.retracted).toBe(0);
  });

  test('that left a log out shows it with the receipt', async () => {
    const { followed, store } = network({}, { omission: ALL_LEFT_OUT });
    await followed.payAndPoll(40);
    expect(followed.results.some(({ omissions }) => omissions > 0)).toBe(true);
    expect(late(followed)).toBeLessThanOrEqual(12);
    expect(store.counts.retracted).toBe(0);
    expect(followed.mistakes()).toEqual([]);
  });
});

test('waits for a log that one node shows, one denies, and one cannot be asked for', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const denies = (hash: string) => hash === chain.blocks[45]?.transactions[0]?.hash;
  const isAsked = { third: false };
  const [first, second, third] = [new ModelNode(chain, { denies }), new ModelNode(chain), new ModelNode(chain)];
  const nodes = [first.exchange, second.exchange, changing(third.exchange, withoutReceipts)];
  function withoutReceipts({ method }: RpcRequest, answer: Answered): Answered {
    if (isAsked.third || !/Logs|Receipt/.test(method)) return answer;
    if (method === 'eth_getLogs') return { ...answer, result: [] };
    return { id: answer.id, error: { code: -32000, message: 'not now' } };
  }
  const followed = new FollowedChain(chain, { nodes, startBlock: 41 });
  await followed.payAndPoll(60);
  const payment = () => [...followed.store.facts.values()].find(({ transactionHash }) => denies(transactionHash));
  expect(payment()).toBeUndefined();
  expect(followed.store.state.final).toBeLessThan(45);
  expect(followed.store.steps.at(-1)?.trouble).toEqual({ reason: 'final_waits', node: null });
  isAsked.third = true;
  await followed.payAndPoll(40);
  expect(payment()).toMatchObject({ state: 'final', isDisputed: false });
  expect(followed.store.steps.at(-1)?.trouble).toBeNull();
  expect(late(followed)).toBeLessThanOrEqual(12);
  expect(followed.mistakes()).toEqual([]);
});

test('a log that two of three nodes have a moment later than its block is not missed', async () => {
  // The honest node reads the tail at one of these blocks.
  for (const place of [3, 7]) {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const isNew = (hash: string) => chain.blocks.at(-1)?.transactions.some((one) => one.hash === hash) === true;
    const denies = (hash: string) => chain.head % 8 === place && isNew(hash);
    const nodes = [{ denies }, {}, { denies }].map((faults) => new ModelNode(chain, faults).exchange);
    const followed = new FollowedChain(chain, { nodes, startBlock: 41 });
    await followed.payAndPoll(200);
    for (let block = 0; block < 20; block++) {
      chain.mine();
      await followed.poll();
    }
    expect(followed.mistakes()).toEqual([]);
  }
});

test('a log that a lone node left out at first is found before its block is final', async () => {
  const { chain, nodes, followed, store } = network({ omission: ALL_LEFT_OUT });
  chain.mine([followed.payment()]);
  for (let block = 0; block < 15; block++) {
    chain.mine();
    await followed.poll();
  }
  for (const { faults } of nodes) faults.omission = NOTHING_LEFT_OUT;
  // While nothing is known to wait for finality, nodes are asked every two minutes what is final.
  for (let block = 0; block < 130; block++) {
    chain.mine();
    await followed.poll();
  }
  expect(store.counts.seen).toBe(1);
  expect(followed.mistakes()).toEqual([]);
});

test('two nodes with different blocks at that height keep it from becoming final', async () => {
  const { chain, nodes, followed, store } = network({}, {});
  await followed.payAndPoll(30);
  const { final } = store.state;
  const depth = chain.head - (final ?? 0) - 1;
  chain.fork(
    depth,
    Array.from({ length: depth + 20 }, () => [followed.payment()]),
  );
  // The second node is still on the branch that was left, and moves on there.
  const [, second] = nodes;
  if (second === undefined) throw new Error('There are two nodes');
  second.faults.lag = 1;
  await followed.pollTimes(20);
  expect(store.state.final).toBeLessThanOrEqual((final ?? 0) + 1);
  second.faults.lag = 0;
  await followed.payAndPoll(12);
  expect(late(followed)).toBeLessThanOrEqual(6);
});

test('a fact of a block that was left is not made final', async () => {
  const { chain, followed, store } = network({}, {});
  chain.mine([followed.payment()]);
  await followed.poll();
  const [fact] = store.facts.values();
  if (fact?.position === null || fact === undefined) throw new Error('There is a fact');
  // As a response that came too late would have left it: in a block that is gone, far below the tail.
  await followed.payAndPoll(10);
  fact.position = { ...fact.position, blockHash: `0x${'ee'.repeat(32)}` };
  await followed.payAndPoll(20);
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
  await followed.payAndPoll(40);
  // The depth of the nodes, and one range.
  expect(followed.store.state.final).toBeGreaterThan(chain.head - 30);
  expect(followed.mistakes()).toEqual([]);
});

test('a jump of finality by hundreds of blocks rises it within a few polls', async () => {
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
  // Nodes are asked at most every minute, because the usual time to finality is long.
  await followed.pollTimes(64);
  expect(followed.store.state.final).toBeGreaterThan(chain.head - 600 - 32);
  expect(followed.store.state.final).toBeLessThanOrEqual(chain.head - 600);
});

test('a tag of another branch makes nothing final', async () => {
  const { chain, followed, store, nodes } = network({});
  await followed.payAndPoll(5);
  const { final } = store.state;
  const [node] = nodes;
  if (node === undefined) throw new Error('There is a node');
  const hash = `0x${'ee'.repeat(32)}`;
  const twisted = changing(node.exchange, ({ params }, answer) =>
    params[0] === 'finalized' ? { ...answer, result: { ...Object(answer.result), hash } } : answer,
  );
  const other = new FollowedChain(chain, { nodes: [twisted], store });
  await other.payAndPoll(12);
  expect(other.store.state.final).toBe(final);
  expect(other.results.some(({ disagreements }) => disagreements > 0)).toBe(true);
});
