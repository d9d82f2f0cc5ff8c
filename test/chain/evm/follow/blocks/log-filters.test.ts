import { expect, test } from 'bun:test';
import { logFilters } from '../../../../../src/chain/evm/follow/blocks/log-filters.ts';
import { addressOf, wordOf } from '../../../../support/chain/model-chain.ts';
import { modelSource, TOPIC } from '../../../../support/chain/model-decoder.ts';

const [ONE, TWO] = [addressOf(1), addressOf(2)];
const [TO_A, TO_B] = [wordOf(0xa), wordOf(0xb)];

const topicsOf = (...topics: ((readonly string[] | null)[] | undefined)[]) =>
  logFilters(
    topics.map((each, index) => modelSource({ contract: addressOf(index), ...(each && { topics: each }) })),
    1,
    9,
  )[0]?.topics;

test('a filter has every contract once and every first topic', () => {
  const other = wordOf(0x71);
  const sources = [
    modelSource({ contract: ONE }),
    modelSource({ contract: ONE }),
    modelSource({ contract: TWO, topic: other }),
  ];
  expect(logFilters(sources, 5, 9)).toEqual([
    { fromBlock: 5, toBlock: 9, addresses: [ONE, TWO], topics: [[TOPIC, other]] },
  ]);
});

test('sources that restrict the same topics share a filter with the values of all of them', () => {
  expect(topicsOf([[TOPIC], null, [TO_A]], [[TOPIC], null, [TO_B, TO_A]])).toEqual([[TOPIC], null, [TO_A, TO_B]]);
  expect(topicsOf([[TOPIC], null, null], undefined)).toEqual([[TOPIC]]);
});

test('a source with other conditions, or without any, has its own filter and widens none', () => {
  const narrow = modelSource({ contract: ONE, topics: [[TOPIC], null, [TO_A]] });
  const before = logFilters([narrow], 1, 9);
  expect(before).toEqual([{ fromBlock: 1, toBlock: 9, addresses: [ONE], topics: [[TOPIC], null, [TO_A]] }]);
  const foreign = [
    modelSource({ contract: TWO }),
    modelSource({ contract: ONE }),
    modelSource({ contract: TWO, topics: [[TOPIC], [TO_B]] }),
    modelSource({ contract: ONE, topics: [[TOPIC], [TO_B], [TO_B]] }),
  ];
  const filters = logFilters([narrow, ...foreign], 1, 9);
  expect(filters.slice(0, 1)).toEqual(before);
  expect(filters.slice(1).map(({ addresses, topics }) => ({ addresses, topics }))).toEqual([
    { addresses: [TWO, ONE], topics: [[TOPIC]] },
    { addresses: [TWO], topics: [[TOPIC], [TO_B]] },
    { addresses: [ONE], topics: [[TOPIC], [TO_B], [TO_B]] },
  ]);
});

test('no list of values is longer than nodes take, and no value is left out', () => {
  const sources = Array.from({ length: 60 }, (_, source) =>
    modelSource({
      sourceId: `src_${source}`,
      contract: addressOf(source % 3),
      topics: [[TOPIC], null, Array.from({ length: 60 }, (_, value) => wordOf(60 * source + value))],
    }),
  );
  const filters = logFilters(sources, 1, 9);
  expect(filters).toHaveLength(4);
  for (const { topics } of filters) expect(topics[2]?.length ?? 0).toBeLessThanOrEqual(1_000);
  for (const source of sources) {
    const isWhole = ({ addresses, topics }: (typeof filters)[number]) =>
      addresses.includes(source.contract) && source.topics?.[2]?.every((value) => topics[2]?.includes(value));
    expect(filters.some(isWhole)).toBe(true);
  }
});

test('a source that begins after these blocks is not asked for', () => {
  expect(logFilters([modelSource({ fromBlock: 10 })], 1, 9)).toEqual([]);
  expect(logFilters([modelSource({ fromBlock: 9 })], 1, 9)).toHaveLength(1);
});

test('many contracts are asked for with several filters', () => {
  const sources = Array.from({ length: 1_200 }, (_, index) => modelSource({ contract: addressOf(index) }));
  const filters = logFilters(sources, 1, 2);
  expect(filters.map(({ addresses }) => addresses.length)).toEqual([1_000, 200]);
  expect(new Set(filters.flatMap(({ addresses }) => addresses)).size).toBe(1_200);
});

test('blocks on both sides of a change have the values of both definitions, and others have the values of one', () => {
  const earlier = [
    { revision: 1, definition: modelSource().definition, topics: [[TOPIC], [TO_A]], fromBlock: 1, untilBlock: 49 },
  ];
  const source = modelSource({ topics: [[TOPIC], [TO_B]], revision: 2, appliesFrom: 50, earlier });
  const valuesOf = (from: number, to: number) => logFilters([source], from, to)[0]?.topics[1];
  expect(valuesOf(1, 49)).toEqual([TO_A]);
  expect(valuesOf(49, 50)).toEqual([TO_A, TO_B]);
  expect(valuesOf(50, 99)).toEqual([TO_B]);
});
