import { expect, test } from 'bun:test';
import type { EvmHabits } from '../../../src/chain/evm/follow/evm-poll.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { PAYEE, PAYER, presetLog, sourceOf, testDecoder } from '../../support/chain/logs.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

/** A poll of Tron has few calls: the head that it begins with is not asked for again, and its nodes send no time with a log. */

const TRON: EvmHabits = { asksSafe: false, savesCalls: true };

test('a payment in the newest of several blocks has the time of the head', async () => {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const sources = [sourceOf({ preset: 'erc20', where: { to: [PAYEE] }, networkId: 1 }, { fromBlock: 41 })];
  const options = { sources, startBlock: 41, decoder: testDecoder().decoder, habits: TRON };
  const followed = new FollowedChain(chain, { nodes: [new ModelNode(chain).exchange], ...options });
  await followed.catchUp();
  const times: number[] = [];
  // Not every poll asks for the final block in the same request as for the head, and only those trust the head.
  for (let poll = 0; poll < 5; poll++) {
    chain.mineEmpty(1);
    const { timestampS } = chain.mine([chain.transaction({ logs: [presetLog('erc20', [PAYER, PAYEE, 5n])] })]);
    times.push(timestampS);
    await followed.poll();
  }
  expect([...followed.store.facts.values()].map(({ position }) => position?.blockS)).toEqual(times);
});
