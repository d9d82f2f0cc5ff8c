import { expect, test } from 'bun:test';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { taggedBlock } from '../../../src/chain/evm/rpc/calls.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { TestClock } from '../../support/chain/followed-chain.ts';
import { ModelChain } from '../../support/chain/model-chain.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';
import { rejection } from '../../support/rejection.ts';

function nodesWith(...faults: Partial<Faults>[]) {
  const clock = new TestClock();
  const chain = new ModelChain();
  chain.mineEmpty(5);
  const models = faults.map((each) => new ModelNode(chain, each, { below: () => 0 }));
  const nodes = models.map(
    ({ exchange }, index) =>
      new Node({ name: `1#${index + 1}`, identity: evmIdentity(1), exchange, clock, random: () => 1 }),
  );
  return { clock, models, all: nodes, nodes: new Nodes(nodes) };
}

test('one node is preferred as long as it responds', () => {
  const { nodes } = nodesWith({}, {}, {});
  expect([1, 2, 3].map(() => nodes.current()?.name)).toEqual(['1#1', '1#1', '1#1']);
});

test('a node in its back-off makes way for the next, which stays preferred', () => {
  const { nodes, all, clock } = nodesWith({}, {});
  all[0]?.noteFailure(new RpcFailure('timeout'));
  expect(nodes.current()?.name).toBe('1#2');
  clock.ms += 10_000;
  expect(nodes.current()?.name).toBe('1#2');
});

test('with every node in its back-off there is none to ask, and the shortest wait is known', () => {
  const { nodes, all } = nodesWith({}, {});
  all[0]?.noteFailure(new RpcFailure('timeout'));
  all[1]?.noteFailure(new RpcFailure('rate_limited', { retryAfterMs: 9_000 }));
  expect(nodes.current()).toBeNull();
  expect(nodes.waitMs).toBe(500);
});

test('a second opinion comes from any other node in its turn', () => {
  const { nodes, all } = nodesWith({}, {}, {});
  const [first] = all;
  if (first === undefined) throw new Error('There are three nodes');
  const names = Array.from({ length: 4 }, () => nodes.second(first)?.name);
  expect(names.sort()).toEqual(['1#2', '1#2', '1#3', '1#3']);
  all[1]?.noteFailure(new RpcFailure('timeout'));
  expect([nodes.second(first)?.name, nodes.second(first)?.name]).toEqual(['1#3', '1#3']);
});

test('a single node has no second', () => {
  const { nodes, all } = nodesWith({});
  expect(all[0] && nodes.second(all[0])).toBeNull();
});

test('a question goes to the next node where the first one fails', async () => {
  const { nodes } = nodesWith({ unreachable: 100 }, { chainId: 5 }, {});
  expect(await nodes.ask(taggedBlock('latest'))).toMatchObject({ number: 5 });
  expect(nodes.all.map(({ contact }) => contact.state)).toEqual(['failing', 'wrong_chain', 'ok']);
});

test('a question that no node answers fails with the last reason', async () => {
  const { nodes } = nodesWith({ unreachable: 100 }, { rateLimited: 100 });
  expect(await rejection(nodes.ask(taggedBlock('latest')))).toMatchObject({ kind: 'rate_limited' });
  expect(await rejection(nodes.ask(taggedBlock('latest')))).toMatchObject({ kind: 'unreachable' });
});

test('a refusal of a healthy node is not asked for again', async () => {
  const { nodes, models } = nodesWith({ finalized: 'error' }, {});
  await nodes.ask(taggedBlock('latest'));
  expect(await rejection(nodes.ask(taggedBlock('finalized')))).toMatchObject({ kind: 'rpc_error' });
  expect(models[1]?.requests).toBe(0);
});

test('a network without a node is a mistake of the program', () => {
  expect(() => new Nodes([])).toThrow('at least one node');
});
