import { expect, test } from 'bun:test';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

/** Events that are held for a transaction, which no log tells of. */

async function network() {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const nodes = [new ModelNode(chain), new ModelNode(chain)];
  const exchanges = nodes.map(({ exchange }) => exchange);
  const followed = new FollowedChain(chain, { nodes: exchanges, sources: [], startBlock: null });
  await followed.catchUp();
  return { chain, nodes, followed, store: followed.store };
}

test('an event waits until its transaction is in a block, and is final with it', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction();
  store.hold('held', transaction.hash);
  await followed.mineAndPoll(3);
  expect(store.fact('held')).toMatchObject({ state: 'waiting', position: null });
  const { number: blockNumber, hash: blockHash } = chain.mine([transaction]);
  await followed.poll();
  expect(store.fact('held')).toMatchObject({ state: 'seen', position: { blockNumber, blockHash, logIndex: 0 } });
  await followed.mineAndPoll(17);
  expect(store.fact('held').state).toBe('final');
});

test('the transaction is asked for with the second request of a poll', async () => {
  const { chain, followed, store } = await network();
  store.hold('held', chain.transaction().hash);
  chain.mine();
  expect((await followed.poll()).liveRequests).toBe(2);
  expect(store.steps.some(({ asked }) => asked.some(({ factId }) => factId === 'held'))).toBe(true);
});

test('a poll asks for a few of many transactions', async () => {
  const { chain, nodes, followed, store } = await network();
  for (let event = 0; event < 50; event++) store.hold(`held_${event}`, chain.transaction().hash);
  chain.mine();
  await followed.poll();
  const asked = nodes.reduce((sum, { calls }) => sum + (calls.get('eth_getTransactionReceipt') ?? 0), 0);
  expect(asked).toBe(8);
});

test('a transaction that failed is not a payment: its event waits until that is final, and is retracted then', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction({ isSuccess: false });
  store.hold('held', transaction.hash);
  chain.mine([transaction]);
  await followed.poll();
  expect(store.fact('held').state).toBe('waiting');
  await followed.mineAndPoll(20);
  expect(store.fact('held').state).toBe('retracted');
});

test('a transaction that failed in a block that is gone is a payment in the next one', async () => {
  const { chain, followed, store } = await network();
  const failed = chain.transaction({ isSuccess: false });
  store.hold('held', failed.hash);
  chain.mine([failed]);
  await followed.poll();
  chain.fork(1, [[], [{ ...failed, isSuccess: true }]]);
  await followed.pollTimes(2);
  expect(store.fact('held').state).toBe('seen');
});

test('a transaction from long ago is final at once', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction();
  const { number } = chain.mine([transaction]);
  await followed.mineAndPoll(30);
  store.hold('held', transaction.hash);
  await followed.poll();
  expect(store.fact('held')).toMatchObject({ state: 'final', position: { blockNumber: number } });
});

test('a transaction that moves takes its event with it', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction();
  store.hold('held', transaction.hash);
  chain.mine([transaction]);
  await followed.poll();
  chain.fork(1, [[], [transaction]]);
  await followed.pollTimes(2);
  expect(store.fact('held')).toMatchObject({ state: 'seen', position: { blockNumber: chain.head } });
  expect(store.counts).toMatchObject({ lost: 1, moved: 2, retracted: 0 });
});

test('a transaction that is gone is retracted after the grace', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction();
  store.hold('held', transaction.hash);
  chain.mine([transaction]);
  await followed.poll();
  chain.fork(1, [[], []]);
  await followed.poll();
  expect(store.fact('held').state).toBe('lost');
  await followed.mineAndPoll(3);
  expect(store.fact('held').state).toBe('retracted');
});

test('a transaction that is back after the retraction is seen again, with the next revision', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction();
  store.hold('held', transaction.hash);
  chain.mine([transaction]);
  await followed.poll();
  chain.fork(1, [[], []]);
  await followed.poll();
  await followed.mineAndPoll(3);
  expect(store.fact('held').state).toBe('retracted');
  const { number: blockNumber, hash: blockHash } = chain.mine([transaction]);
  await followed.poll();
  expect(store.fact('held')).toMatchObject({ state: 'seen', revision: 2, position: { blockNumber, blockHash } });
  expect(store.counts.again).toBe(1);
});

test('an event whose transaction was replaced below the tail is not made final', async () => {
  const { chain, followed, store } = await network();
  const transaction = chain.transaction();
  store.hold('held', transaction.hash);
  chain.mine([transaction]);
  await followed.poll();
  await followed.mineAndPoll(10);
  chain.fork(
    11,
    Array.from({ length: 12 }, () => []),
  );
  await followed.poll();
  expect(store.fact('held').state).toBe('lost');
  await followed.mineAndPoll(20);
  expect(store.fact('held').state).toBe('retracted');
});

test('a fact of a source that is not followed any more is followed by its transaction', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const followed = new FollowedChain(chain, { nodes: [new ModelNode(chain).exchange], startBlock: 41 });
  const { store } = followed;
  const [moves, goes] = [followed.payment(), followed.payment()];
  chain.mine([moves, goes]);
  await followed.catchUp();
  store.paused.push({ entityId: 'acme', sourceId: 'src_1' });
  await followed.mineAndPoll(1);
  expect(followed.results.at(-1)?.omissions).toBe(0);
  chain.fork(2, [[], [], [moves]]);
  await followed.poll();
  await followed.mineAndPoll(6);
  const states = [moves, goes].map(
    ({ hash }) => [...store.facts.values()].find((fact) => fact.transactionHash === hash)?.state,
  );
  expect(states).toEqual(['seen', 'retracted']);
});
