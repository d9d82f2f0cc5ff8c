import { expect, test } from 'bun:test';
import { RemovedNumbersError } from '../../src/client/errors.ts';
import { type Feed, type FeedEntry, type FeedQuery, followFeed } from '../../src/client/pages.ts';
import { rejection } from '../support/rejection.ts';

const entry = (sequence: number): FeedEntry => ({
  sequence,
  deliveryId: `dlv_${sequence}`,
  eventId: `evt_${sequence}`,
  event: 'LatePayment',
  networkId: 1,
  status: 'delivered',
  dateCreated: 1,
  body: '{}',
});

/** A server whose feed has these numbers, in pages of three; it notes what it was asked for. */
function serverWith(firstSequence: number, lastSequence: number) {
  const asked: FeedQuery[] = [];
  const read = async (query: FeedQuery): Promise<Feed> => {
    asked.push(query);
    if (asked.length > 20) throw new Error('it asks for ever');
    const from = Math.max((query.after ?? 0) + 1, firstSequence);
    const numbers = [from, from + 1, from + 2].filter((number) => number <= lastSequence);
    return { firstSequence, lastSequence, deliveries: numbers.map(entry) };
  };
  return { read, asked };
}

async function take(entries: AsyncIterable<FeedEntry>): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { sequence } of entries) numbers.push(sequence);
  return numbers;
}

test('a feed is followed page after page, up to `until`', async () => {
  const { read, asked } = serverWith(1, 100);
  expect(await take(followFeed(read, { after: 3, until: 8 }))).toEqual([4, 5, 6, 7, 8]);
  expect(asked.map(({ after, wait }) => [after, wait])).toEqual([
    [3, 20],
    [6, 20],
  ]);
});

test('without `until` it waits for the next number for ever', async () => {
  const { read, asked } = serverWith(1, 4);
  const error = await rejection(take(followFeed(read, {})));
  expect(error).toMatchObject({ message: 'it asks for ever' });
  expect(asked.at(-1)?.after).toBe(4);
});

test('numbers that were removed before they were read are an error, unless the caller takes note of them', async () => {
  const { read } = serverWith(10, 12);
  const error = await rejection(take(followFeed(read, { after: 3, until: 12 })));
  expect(error).toBeInstanceOf(RemovedNumbersError);
  expect(error).toMatchObject({ removed: { first: 4, last: 9 } });
  const removed: unknown[] = [];
  const numbers = await take(followFeed(read, { after: 3, until: 12, onRemoved: (range) => removed.push(range) }));
  expect([numbers, removed]).toEqual([[10, 11, 12], [{ first: 4, last: 9 }]]);
  expect(await take(followFeed(read, { until: 12 }))).toEqual([10, 11, 12]);
});
