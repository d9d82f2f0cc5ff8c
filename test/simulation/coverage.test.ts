import { expect, test } from 'bun:test';
import { nodesOf } from './fleet/network.ts';
import { generate, withNodeFaults } from './generate.ts';
import type { SeedResult } from './job.ts';
import { NODE_ACTIONS } from './operations/nodes.ts';
import { ACTIONS } from './operations/table.ts';
import type { Evidence } from './oracle/evidence.ts';
import type { Law } from './oracle/law.ts';
import { judge, LAWS, type Violation } from './oracle/laws.ts';
import { isClean, summarize } from './report.ts';

/** A law, an operation or a fault that is missing leaves every run clean. These tests notice it. */

const NAMES = [
  ...['post', 'repeat', 'hold', 'retract', 'block', 'follow', 'payment', 'drop', 'reorder', 'bring-back', 'unfollow'],
  ...['invoice', 'pay-invoice', 'cancel-invoice'],
  ...['pause-source', 'resume-source', 'redefine-source'],
  ...['register', 'move', 'filter', 'finality', 'suspend', 'resume', 'delete'],
  ...[
    'pause',
    'unpause',
    'headers',
    'order',
    'rotate',
    'feed',
    'redeliver',
    'bulk-redeliver',
    'retention',
    'reconcile',
  ],
  ...['receiver-fine', 'receiver-slow', 'receiver-error', 'receiver-refused', 'receiver-late', 'receiver-gone'],
  ...['kill', 'freeze', 'outage', 'clock', 'statement-slow', 'statement-fails'],
  ...['commit-slow', 'commit-fails', 'commit-unanswered', 'node', 'hint'],
  ...['node-freezes', 'node-hangs', 'node-lags', 'node-calls-head-final', 'node-calls-final-early'],
  ...['node-calls-nothing-final', 'node-invents', 'node-denies', 'node-omits', 'node-refuses'],
  'node-lives-in-the-future',
];

test('the oracle has fifteen laws, in the order of their numbers', () => {
  expect(LAWS.map(({ id }) => id)).toEqual(Array.from({ length: 15 }, (_, index) => `L${index + 1}`));
});

test('a law that does not hold gives a violation, and a run with one is not clean', () => {
  const broken: Law = { id: 'L1', says: '', check: (_, verdict) => verdict.require(false, () => 'broken') };
  const kept: Law = { id: 'L2', says: '', check: (_, verdict) => verdict.require(true, () => 'kept') };
  const { violations, checked } = judge({} as Evidence, [broken, kept]);
  expect(violations).toEqual([{ law: 'L1', text: 'broken' }]);
  expect(checked).toEqual({ L1: 1, L2: 1 });
  expect(isClean(summarize([resultOf([]), resultOf(violations)]))).toBe(false);
  expect(isClean(summarize([resultOf([])]))).toBe(true);
});

function resultOf(violations: readonly Violation[]): SeedResult {
  return {
    ...{ seed: 1, hash: '', violations, checked: {}, occurred: {}, pairs: {}, unexpected: [] },
    ...{ operations: 1, receipts: 1, virtualMs: 1, realMs: 1 },
  };
}

test('each operation and fault is drawn at least 40 times in 200 seeds', () => {
  const drawn = Array.from({ length: 200 }, (_, seed) => listOf(seed)).flat();
  const counts = Map.groupBy(drawn, ({ name }) => name);
  expect([...counts.keys()].toSorted()).toEqual(NAMES.toSorted());
  expect(NAMES.filter((name) => (counts.get(name)?.length ?? 0) < 40)).toEqual([]);
});

function listOf(seed: number) {
  return withNodeFaults(seed, generate(seed, 120, ACTIONS), NODE_ACTIONS);
}

test('the faults of nodes change no other operation of a seed', () => {
  const others = listOf(7).filter(({ name }) => !(name in NODE_ACTIONS));
  expect(others).toEqual(generate(7, 120, ACTIONS));
});

test('one of four networks has 1, 2, 3 or 5 nodes', () => {
  const counts = Map.groupBy(
    Array.from({ length: 400 }, (_, seed) => nodesOf(seed)),
    (nodes) => nodes,
  );
  expect([...counts.keys()].toSorted()).toEqual([1, 2, 3, 5]);
  for (const seeds of counts.values()) expect(seeds.length).toBeWithin(60, 140);
});
