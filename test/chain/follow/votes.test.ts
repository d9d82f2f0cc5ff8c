import { expect, test } from 'bun:test';
import { ETHEREUM_HABITS } from '../../../src/chain/evm/follow/evm-poll.ts';
import { EvmMemory } from '../../../src/chain/evm/follow/memory.ts';
import { takeVotes } from '../../../src/chain/evm/follow/witnesses/votes.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { taggedBlock } from '../../../src/chain/evm/rpc/calls.ts';
import { Poll } from '../../../src/chain/follow/poll.ts';
import { Witnesses } from '../../../src/chain/follow/witnesses/witnesses.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { TestClock } from '../../support/chain/followed-chain.ts';
import { MemoryStore } from '../../support/chain/memory-store.ts';
import { ModelChain, wordOf } from '../../support/chain/model-chain.ts';
import { modelDecoder, modelFacts, modelSource, TOPIC } from '../../support/chain/model-decoder.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { rejection } from '../../support/rejection.ts';

const ABSENT_AFTER_MS = 600_000;

/** A payment in a block that five nodes have. */
async function fiveNodes() {
  const chain = new ModelChain();
  chain.mineEmpty(10);
  chain.mine([chain.transaction({ logs: [{ address: modelSource().contract, topics: [TOPIC], data: wordOf(1) }] })]);
  const [fact] = modelFacts(chain.logs(), [modelSource()]);
  if (fact === undefined) throw new Error('There is a payment');
  const clock = new TestClock();
  const models = Array.from({ length: 5 }, () => new ModelNode(chain));
  const nodes = new Nodes(
    models.map(
      ({ exchange }, index) =>
        new Node({
          name: `1#${index + 1}`,
          identity: evmIdentity(1),
          exchange,
          clock,
          random: () => 0.5,
          dateMs: clock.nowMs,
        }),
    ),
  );
  const options = { networkId: 1, finalityDepth: null, graceBlocks: 3, leastDepth: 1, quorum: null };
  const witnesses = new Witnesses(nodes, clock, options);
  const store = new MemoryStore({ sources: [modelSource()] });
  const own = { decoder: modelDecoder, habits: ETHEREUM_HABITS, memory: new EvmMemory() };
  const follow = { store, nodes, options, witnesses, clock, ...own };
  const stop = async (...indexes: readonly number[]) => {
    for (const index of indexes) {
      const [model, node] = [models[index], nodes.all[index]];
      if (model === undefined || node === undefined) throw new Error('There are five nodes');
      model.isDown = true;
      await rejection(node.send([taggedBlock('latest')]));
    }
    witnesses.assess(null, clock.nowMs());
  };
  return { fact, clock, witnesses, stop, poll: new Poll(follow, await store.lease(1)) };
}

test('a payment that two of five nodes denied before they hung is disputed, while two other nodes are gone', async () => {
  const { fact, clock, witnesses, stop, poll } = await fiveNodes();
  await stop(3, 4);
  clock.ms += ABSENT_AFTER_MS;
  await stop(1, 2);
  expect(witnesses.present.map(({ node }) => node.name)).toEqual(['1#1', '1#2', '1#3']);
  const votes = { yes: ['1#1'], no: ['1#2', '1#3'] };
  const [judged] = await takeVotes(poll, [{ ...fact, isHeld: false, votes }]);
  // Neither node denies it now, so that nothing is retracted. Neither node is waited for.
  expect(judged).toMatchObject({ verdict: 'disputed', votes: { yes: ['1#1'], no: [] } });
});
