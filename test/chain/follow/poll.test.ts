import { describe, expect, test } from 'bun:test';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { addressOf, ModelChain } from '../../support/chain/model-chain.ts';
import { modelSource } from '../../support/chain/model-decoder.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

function setUp(options: Partial<ConstructorParameters<typeof FollowedChain>[1]> = {}, blocks = 40) {
  const chain = new ModelChain();
  chain.mineEmpty(blocks);
  const node = new ModelNode(chain);
  return { chain, node, followed: new FollowedChain(chain, { nodes: [node.exchange], ...options }) };
}

describe('the first start', () => {
  test('reads from the block that the store names', async () => {
    const { chain, followed } = setUp({ startBlock: 41 });
    chain.mine([followed.payment()]);
    chain.mine([followed.payment()]);
    await followed.catchUp();
    expect(followed.store.counts.seen).toBe(2);
    expect(followed.mistakes()).toEqual([]);
  });

  test('begins at the head where there is nothing to read', async () => {
    const { chain, node, followed } = setUp({ sources: [], startBlock: null });
    await followed.catchUp();
    expect(followed.store.state).toMatchObject({ tip: { number: chain.head }, final: chain.head - 16 });
    expect(node.calls.has('eth_getLogs')).toBe(false);
  });

  test('waits for a block that the nodes have not got yet', async () => {
    const { chain, followed } = setUp({ startBlock: 43 });
    await followed.catchUp();
    expect(followed.store.state.tip?.number).toBe(40);
    chain.mineEmpty(2);
    chain.mine([followed.payment()]);
    await followed.catchUp();
    expect(followed.store.counts.seen).toBe(1);
  });

  test('takes blocks below the first one to read for final, up to what the network says', async () => {
    const { followed } = setUp({ startBlock: 10 });
    await followed.poll();
    expect(followed.store.steps[0]).toMatchObject({ tip: { number: 9 }, final: 9 });
    const near = setUp({ startBlock: 39 });
    await near.followed.poll();
    expect(near.followed.store.steps[0]).toMatchObject({ tip: { number: 38 }, final: 24 });
  });

  test('on a network without finality keeps an anchor that a fork at the start does not reach', async () => {
    const { chain, node, followed } = setUp({ startBlock: 100 }, 99);
    node.faults.finalized = 'null';
    await followed.catchUp();
    chain.fork(
      20,
      Array.from({ length: 21 }, () => [followed.payment()]),
    );
    await followed.catchUp();
    expect(followed.mistakes()).toEqual([]);
    expect(followed.store.state.final).toBeNull();
  });
});

/** Polls until the follower trusts its nodes enough to read the tail only now and then. */
async function settle(followed: FollowedChain): Promise<void> {
  await followed.catchUp();
  await followed.mineAndPoll(101);
}

describe('case 12: a poll asks for little', () => {
  test('a head that is the same takes one call', async () => {
    const { followed } = setUp({ startBlock: 20 });
    await settle(followed);
    await followed.poll();
    expect(await followed.poll()).toMatchObject({ outcome: 'followed', calls: 1, requests: 1 });
  });

  test('a new block takes two calls, and is asked for by its hash', async () => {
    const { chain, node, followed } = setUp({ startBlock: 20 });
    await settle(followed);
    await followed.poll();
    const liveCalls: number[] = [];
    for (let block = 0; block < 12; block++) {
      chain.mine([followed.payment()]);
      const result = await followed.poll();
      expect(result.seen).toBe(1);
      liveCalls.push(result.liveCalls);
    }
    // Some polls also ask what is final, and every sixth block the tail is read again.
    expect(liveCalls.filter((calls) => calls === 2).length).toBeGreaterThanOrEqual(6);
    expect(Math.max(...liveCalls)).toBeLessThanOrEqual(6);
    expect(node.hashCalls).toBeGreaterThanOrEqual(10);
  });

  test('a node that refuses filters by hash is asked for ranges after the third time', async () => {
    const { chain, node, followed } = setUp({ startBlock: 20 });
    node.faults.takesHashes = false;
    await settle(followed);
    const refused = node.hashCalls;
    expect(refused).toBe(3);
    for (let block = 0; block < 5; block++) {
      chain.mine([followed.payment()]);
      expect(await followed.poll()).toMatchObject({ outcome: 'followed', seen: 1 });
    }
    expect(node.hashCalls).toBe(refused);
    expect(followed.mistakes()).toEqual([]);
  });

  // Exactly 100 logs would be read twice, because a provider may have cut them off.
  test.each([1, 7, 99])('%d blocks a poll take at most seven calls in three requests', async (blocks) => {
    const { chain, followed } = setUp({ startBlock: 20 });
    const exchanges = [new ModelNode(chain).exchange, new ModelNode(chain).exchange];
    const two = new FollowedChain(chain, { nodes: exchanges, startBlock: 20 });
    await followed.catchUp();
    await two.catchUp();
    for (let poll = 0; poll < 10; poll++) {
      for (let block = 0; block < blocks; block++) chain.mine([two.payment()]);
      for (const each of [followed, two]) {
        const { liveCalls, liveRequests, lagBlocks } = await each.poll();
        expect({ calls: liveCalls <= 7, requests: liveRequests <= 3 }).toEqual({ calls: true, requests: true });
        expect(lagBlocks).toBe(0);
      }
    }
    expect(two.mistakes()).toEqual([]);
  });

  test('without sources no logs are asked for', async () => {
    const { chain, node, followed } = setUp({ sources: [], startBlock: null });
    await followed.catchUp();
    for (let poll = 0; poll < 5; poll++) {
      chain.mine();
      expect((await followed.poll()).liveCalls).toBeLessThanOrEqual(2);
    }
    expect(node.calls.has('eth_getLogs')).toBe(false);
  });

  test('a fork of depth 9 takes at most 20 calls', async () => {
    for (const longer of [0, 1, 3]) {
      const { chain, followed } = setUp({ startBlock: 20 });
      await followed.catchUp();
      await followed.payAndPoll(20);
      // No block of the new branch has a log, so that every block in question has to be asked for.
      chain.fork(
        9,
        Array.from({ length: 9 + longer }, () => []),
      );
      const { calls, lost, reorgDepth } = await followed.poll();
      expect(lost).toBe(9);
      expect(reorgDepth).toBeGreaterThanOrEqual(9);
      expect(calls).toBeLessThanOrEqual(20);
      // The blocks that were left are not asked for again.
      chain.mine();
      expect((await followed.poll()).liveCalls).toBeLessThanOrEqual(6);
    }
  });
});

test('the logs of all sources are asked for with one filter', async () => {
  const sources = [1, 2, 3].map((number) =>
    modelSource({ sourceId: `src_${number}`, contract: addressOf(number), fromBlock: 41 }),
  );
  const { chain, node, followed } = setUp({ sources, startBlock: 41 });
  chain.mine([1, 2, 3, 4].map((number) => followed.payment(1, addressOf(number))));
  await followed.catchUp();
  expect(node.calls.get('eth_getLogs')).toBe(1);
  expect(followed.store.counts.seen).toBe(3);
});

test('entities that follow one contract each have their facts', async () => {
  const sources = ['acme', 'brand', 'corp'].map((entityId) => modelSource({ entityId, sourceId: `src_${entityId}` }));
  const { chain, followed } = setUp({ sources, startBlock: 41 });
  for (let block = 0; block < 5; block++) chain.mine([followed.payment(2)]);
  await followed.catchUp();
  chain.fork(3, [[], [], [], []]);
  await followed.catchUp();
  chain.mineEmpty(5);
  await followed.pollTimes(5);
  expect(followed.store.counts.seen).toBe(30);
  expect(followed.mistakes()).toEqual([]);
});

test('the block time is learned from the headers', async () => {
  const chain = new ModelChain(12);
  chain.mineEmpty(40);
  const followed = new FollowedChain(chain, { nodes: [new ModelNode(chain).exchange], startBlock: 40 });
  await followed.catchUp();
  chain.mine();
  expect((await followed.poll()).blockTimeMs).toBe(12_000);
});

test('nothing is written once another instance holds the network', async () => {
  const { chain, followed } = setUp({ startBlock: 41 });
  await followed.catchUp();
  const { store } = followed;
  const commit = store.commit.bind(store);
  store.commit = (lease, step) => {
    store.token++;
    return commit(lease, step);
  };
  const steps = store.steps.length;
  chain.mine([followed.payment()]);
  expect((await followed.poll()).outcome).toBe('idle');
  expect(store.steps.length).toBe(steps);
  store.commit = commit;
  await followed.catchUp();
  expect(followed.mistakes()).toEqual([]);
});

test('a network that another instance follows is left alone', async () => {
  const { node, followed } = setUp();
  followed.store.lease = async () => null as never;
  expect(await followed.poll()).toMatchObject({ outcome: 'idle', calls: 0 });
  expect(node.requests).toBe(0);
});

test('an error of the store is not mistaken for one of a node', async () => {
  const { followed } = setUp();
  followed.store.commit = () => Promise.reject(new Error('disk full'));
  const [outcome] = await Promise.allSettled([followed.poll()]);
  expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'disk full' } });
});
