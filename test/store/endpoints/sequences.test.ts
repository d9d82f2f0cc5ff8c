import { expect, test } from 'bun:test';
import { takeSequences } from '../../../src/store/endpoints/sequences.ts';
import { onEveryEngine, type TestStore } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

let made = 0;
const nextHex = () => (++made).toString(16).padStart(32, '0');

type Numbered = { entityId: string; endpointNo: number; hex: string; sequence: number };

/** As an acceptance does it: deliveries to several endpoints in one transaction. */
async function take(store: TestStore, entityId: string, endpointNos: readonly number[]): Promise<Numbered[]> {
  const deliveries = endpointNos.map((endpointNo) => ({ entityId, endpointNo, hex: nextHex() }));
  const { db } = store;
  const numbers = await db.transaction((queries) => takeSequences(queries, db.dialect, deliveries));
  return deliveries.map((delivery, index) => ({ ...delivery, sequence: numbers[index] ?? 0 }));
}

onEveryEngine('the numbers of endpoints', (store) => {
  test('count up from 1 for each endpoint, in the order of the deliveries', async () => {
    const entityId = await newEntity(store.db);
    const other = await newEntity(store.db);
    expect((await take(store, entityId, [7, 3, 7, 7, 3])).map(({ sequence }) => sequence)).toEqual([1, 1, 2, 3, 2]);
    expect((await take(store, other, [7])).map(({ sequence }) => sequence)).toEqual([1]);
    expect((await take(store, entityId, [3, 9, 7])).map(({ sequence }) => sequence)).toEqual([3, 1, 4]);
  });

  test('have no hole and no double from writers that run at the same time', async () => {
    const entityId = await newEntity(store.db);
    const writers = Array.from({ length: 40 }, (_, index) =>
      take(store, entityId, index % 2 === 0 ? [1, 2, 3, 1] : [3, 2, 1, 1]),
    );
    const all = (await Promise.all(writers)).flat();
    for (const [endpointNo, count] of [
      [1, 80],
      [2, 40],
      [3, 40],
    ]) {
      const numbers = all.filter((one) => one.endpointNo === endpointNo).map(({ sequence }) => sequence);
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: count ?? 0 }, (_, index) => index + 1));
    }
  });

  test('are taken back with a transaction that fails', async () => {
    const entityId = await newEntity(store.db);
    await take(store, entityId, [1]);
    const { db } = store;
    const failing = db.transaction(async (queries) => {
      await takeSequences(queries, db.dialect, [{ entityId, endpointNo: 1, hex: nextHex() }]);
      throw new Error('on purpose');
    });
    await failing.catch(() => undefined);
    expect((await take(store, entityId, [1])).map(({ sequence }) => sequence)).toEqual([2]);
  });
});
