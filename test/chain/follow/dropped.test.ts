import { expect, test } from 'bun:test';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

test.each([1, 2, 3])(
  '600 payments that a reorg drops are retracted soon, with few calls (%d nodes)',
  async (nodeCount) => {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const nodes = Array.from({ length: nodeCount }, () => new ModelNode(chain).exchange);
    const followed = new FollowedChain(chain, { nodes, startBlock: 41 });
    await followed.payAndPoll(30);
    const dropped = Array.from({ length: 6 }, () => Array.from({ length: 100 }, () => followed.payment()));
    for (const payments of dropped) chain.mine(payments);
    await followed.catchUp();
    chain.fork(
      6,
      Array.from({ length: 7 }, () => []),
    );
    const before = followed.nodes.calls;
    let polls = 0;
    while (followed.store.counts.retracted < 600 && polls < 50) {
      await followed.poll();
      polls++;
      chain.mine([followed.payment()]);
    }
    expect(followed.store.counts.retracted).toBe(600);
    // The grace of three blocks, and three polls.
    expect(polls).toBeLessThanOrEqual(6);
    expect(followed.nodes.calls - before).toBeLessThanOrEqual(150);
    await followed.catchUp();
    expect(followed.mistakes()).toEqual([]);
  },
);
