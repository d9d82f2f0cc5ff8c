import { expect, test } from 'bun:test';
import { SourceMeter } from '../../../src/chain/follow/source-meter.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { addressOf, ModelChain } from '../../support/chain/model-chain.ts';
import { modelSource } from '../../support/chain/model-decoder.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

const [ONE, TWO] = [modelSource({ sourceId: 'src_1' }), modelSource({ sourceId: 'src_2' })];
const costOf = ({ entityId, sourceId }: typeof ONE, requests: number, logs: number) => ({
  ...{ entityId, sourceId, requests, logs },
});

test('costs are due after a minute, and stay due until a step has stored them', () => {
  const meter = new SourceMeter();
  expect(meter.due(1_000)).toEqual([]);
  meter.noteRequest([ONE, TWO]);
  meter.noteRequest([ONE]);
  meter.noteLogs(ONE, 5);
  meter.noteLog(TWO);
  expect(meter.due(60_999)).toEqual([]);
  const due = meter.due(61_000);
  expect(due).toEqual([costOf(ONE, 2, 5), costOf(TWO, 1, 1)]);
  // The step failed.
  meter.noteLog(ONE);
  const again = meter.due(61_500);
  expect(again).toEqual([costOf(ONE, 2, 6), costOf(TWO, 1, 1)]);
  meter.noteWritten(again, 61_500);
  meter.noteLogs(TWO, 3);
  expect(meter.due(121_499)).toEqual([]);
  expect(meter.due(121_500)).toEqual([costOf(TWO, 0, 3)]);
});

test('the costs of many sources are stored in several steps', () => {
  const meter = new SourceMeter();
  meter.due(0);
  meter.noteRequest(Array.from({ length: 1_200 }, (_, at) => modelSource({ sourceId: `src_${at}` })));
  const sizes: number[] = [];
  for (let due = meter.due(60_000); due.length > 0; due = meter.due(60_000)) {
    sizes.push(due.length);
    meter.noteWritten(due, 60_000);
  }
  expect(sizes).toEqual([500, 500, 200]);
});

test('a follower stores the requests of every source and the logs of each', async () => {
  const chain = new ModelChain();
  const [quiet, loud] = [
    modelSource({ sourceId: 'src_quiet', contract: addressOf(1), fromBlock: 1 }),
    modelSource({ entityId: 'ent_loud', sourceId: 'src_loud', contract: addressOf(2), fromBlock: 1 }),
  ];
  const nodes = [new ModelNode(chain).exchange];
  const followed = new FollowedChain(chain, { nodes, sources: [quiet, loud], startBlock: 1 });
  const paymentsTo = (contract: string, count: number) =>
    Array.from({ length: count }, () => followed.payment(1, contract));
  for (let block = 0; block < 80; block++) {
    chain.mine([...paymentsTo(quiet.contract, 1), ...paymentsTo(loud.contract, 5)]);
    await followed.poll();
  }
  const costs = followed.store.steps.flatMap((step) => step.costs);
  const sumOf = (sourceId: string, what: 'requests' | 'logs') =>
    costs.reduce((sum, cost) => sum + (cost.sourceId === sourceId ? cost[what] : 0), 0);
  expect(sumOf('src_quiet', 'requests')).toBeGreaterThanOrEqual(20);
  expect(sumOf('src_loud', 'requests')).toBe(sumOf('src_quiet', 'requests'));
  expect(sumOf('src_quiet', 'logs')).toBeGreaterThanOrEqual(20);
  expect(sumOf('src_loud', 'logs')).toBe(5 * sumOf('src_quiet', 'logs'));
});
