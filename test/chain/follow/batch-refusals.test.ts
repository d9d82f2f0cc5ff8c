import { describe, expect, test } from 'bun:test';
import { REFUSALS, refusing } from '../../support/chain/batch-refusals.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

describe.each(Object.entries(REFUSALS))('a provider that refuses batches with %s', (_, refuse) => {
  function follow(most: number) {
    const chain = new ModelChain();
    chain.mineEmpty(40);
    const { exchange, requests } = refusing(new ModelNode(chain).exchange, refuse, most);
    const followed = new FollowedChain(chain, { nodes: [exchange], startBlock: 41 });
    return { chain, followed, requests };
  }

  test.each([1, 3])('of more than %d calls delivers the first payment within 3 s', async (most) => {
    const { chain, followed } = follow(most);
    chain.mine([followed.payment()]);
    expect((await followed.follower.poll()).outcome).toBe('followed');
    expect(followed.store.counts.seen).toBe(1);
    expect(followed.clock.ms).toBeLessThanOrEqual(3_000);
    expect(followed.mistakes()).toEqual([]);
  });

  test('is soon sent no batch that it refuses, and is not failing', async () => {
    const { followed, requests } = follow(3);
    await followed.payAndPoll(100);
    expect(requests.filter((calls) => calls > 3).length).toBeLessThanOrEqual(6);
    expect(requests.slice(-20).every((calls) => calls <= 3)).toBe(true);
    expect(followed.store.steps.at(-1)?.nodes[0]).toMatchObject({ state: 'ok', limits: { batch: { size: 3 } } });
    expect(followed.mistakes()).toEqual([]);
  });
});

test('the next process sends no batch that the last one saw refused', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const refuse = REFUSALS['one error object'];
  if (refuse === undefined) throw new Error('There is such a refusal');
  const { exchange, requests } = refusing(new ModelNode(chain).exchange, refuse);
  const before = new FollowedChain(chain, { nodes: [exchange], startBlock: 41 });
  await before.pollTimes(3);
  before.store.token++;
  requests.length = 0;
  const after = new FollowedChain(chain, { nodes: [exchange], store: before.store });
  await after.pollTimes(2);
  expect(new Set(requests)).toEqual(new Set([1]));
});
