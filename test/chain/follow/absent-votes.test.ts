import { expect, test } from 'bun:test';
import type { StoredFact } from '../../../src/domain/chain/facts.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { ModelChain, wordOf } from '../../support/chain/model-chain.ts';
import { modelSource, TOPIC } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';

/** The votes of nodes that fail since, or that the setting no longer names. */

const FAKE_HASH = wordOf(0xfa_ce);
const FAKE_BLOCK = 61;
/** After ten minutes, a node that fails no longer counts for the quorum: 300 polls of the model. */
const POLLS_UNTIL_ABSENT = 320;

const invents: Faults['invents'] = ({ number, hash }) => {
  const log = { address: modelSource().contract, topics: [TOPIC], data: wordOf(0xfa_fa_fa) };
  const place = { blockNumber: number, blockHash: hash, transactionHash: FAKE_HASH, logIndex: 99 };
  return number === FAKE_BLOCK ? [{ ...log, ...place }] : [];
};

const fakeIn = ({ store }: FollowedChain): StoredFact | undefined =>
  [...store.facts.values()].find(({ transactionHash }) => transactionHash === FAKE_HASH);

/** The leader has invented a payment that no other node was asked for yet. */
async function invented(...others: Partial<Faults>[]) {
  const chain = new ModelChain();
  chain.mineEmpty(40);
  const nodes = [{ invents }, ...others].map((faults) => new ModelNode(chain, faults));
  const exchanges = nodes.map(({ exchange }) => exchange);
  const ids = exchanges.map((_, index) => `url ${index + 1}`);
  const followed = new FollowedChain(chain, { nodes: exchanges, ids, startBlock: 41 });
  await followed.payAndPoll(21);
  expect(fakeIn(followed)).toMatchObject({ state: 'seen', votes: { yes: ['url 1'], no: [] } });
  return { chain, nodes, exchanges, ids, followed };
}

test('a payment that one of two nodes invents does not become final after that node has failed for ten minutes', async () => {
  const { nodes, followed } = await invented({});
  const [liar] = nodes;
  if (liar === undefined) throw new Error('there are two nodes');
  liar.isDown = true;
  await followed.payAndPoll(POLLS_UNTIL_ABSENT);
  expect(followed.store.state.final).toBeGreaterThan(FAKE_BLOCK + 100);
  expect(fakeIn(followed)).toMatchObject({ state: 'seen', isDisputed: true });
  expect(followed.store.counts.retracted).toBe(0);
});

test('a payment that both nodes have shown becomes final although one of them has failed for ten minutes', async () => {
  const { nodes, followed } = await invented({ invents });
  const [first] = nodes;
  if (first === undefined) throw new Error('there are two nodes');
  first.isDown = true;
  await followed.payAndPoll(POLLS_UNTIL_ABSENT);
  expect(fakeIn(followed)).toMatchObject({ state: 'final', isDisputed: false });
});

test('a payment is retracted if the only node that showed it is no longer in the setting', async () => {
  const { chain, exchanges, ids, followed } = await invented({});
  const { store } = followed;
  const reasons: string[] = [];
  store.onRetraction = (_fact, _tip, reason) => reasons.push(reason);
  const restarted = new FollowedChain(chain, { nodes: exchanges.slice(1), ids: ids.slice(1), startBlock: 41, store });
  restarted.clock.ms = followed.clock.ms;
  for (let block = 0; block < 40; block++) {
    chain.mineEmpty(1);
    await restarted.poll();
  }
  expect(store.state.final).toBeGreaterThan(FAKE_BLOCK);
  expect(fakeIn(restarted)?.state).toBe('retracted');
  expect(reasons).toEqual(['not_on_chain']);
  expect(restarted.mistakes()).toEqual([]);
});

test('the vote of a removed node does not make up the quorum of the nodes that are left', async () => {
  const { chain, exchanges, ids, followed } = await invented({ invents }, {}, {});
  const { store } = followed;
  const nodes = exchanges.slice(1);
  const restarted = new FollowedChain(chain, { nodes, ids: ids.slice(1), startBlock: 41, store });
  restarted.clock.ms = followed.clock.ms;
  for (let block = 0; block < 40; block++) {
    chain.mineEmpty(1);
    await restarted.poll();
  }
  expect(store.state.final).toBeGreaterThanOrEqual(FAKE_BLOCK);
  expect(fakeIn(restarted)?.state).toBe('retracted');
});
