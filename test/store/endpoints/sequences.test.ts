import { expect, test } from 'bun:test';
import type { SqlInteger } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { ID_DIGITS, takeNumbers, type Unnumbered } from '../../../src/store/endpoints/sequences.ts';
import { onSuiteEngine, type TestStore } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

let made = 0;
const nextHex = () => (++made).toString(16).padStart(32, '0');

function newDelivery(entityId: string, endpointNo: number): Unnumbered {
  return { entityId, hex: nextHex(), receiver: { endpointNo }, sequence: null, claim: { sequence: null } };
}

/** As an acceptance does it: deliveries to several endpoints in one transaction. */
async function take({ db }: TestStore, entityId: string, endpointNos: readonly number[]): Promise<Unnumbered[]> {
  const deliveries = endpointNos.map((endpointNo) => newDelivery(entityId, endpointNo));
  await db.transaction((queries) => takeNumbers(queries, db.dialect, deliveries));
  return deliveries;
}

onSuiteEngine('the numbers of endpoints', (store) => {
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
      const numbers = all
        .filter(({ receiver }) => receiver.endpointNo === endpointNo)
        .map(({ sequence }) => sequence ?? 0);
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: count ?? 0 }, (_, index) => index + 1));
    }
  });

  test('are taken back with a transaction that fails', async () => {
    const entityId = await newEntity(store.db);
    await take(store, entityId, [1]);
    const { db } = store;
    const failing = db.transaction(async (queries) => {
      await takeNumbers(queries, db.dialect, [newDelivery(entityId, 1)]);
      throw new Error('on purpose');
    });
    await failing.catch(() => undefined);
    expect((await take(store, entityId, [1])).map(({ sequence }) => sequence)).toEqual([2]);
  });

  test('are what a delivery is dispatched with', async () => {
    const entityId = await newEntity(store.db);
    const taken = await take(store, entityId, [1, 1, 2]);
    expect(taken.map(({ claim }) => claim?.sequence)).toEqual([1, 2, 1]);
  });

  // A block is full with 32: some fill one by themselves, some only with those before them, and some do not.
  test.each([[[1, 1, 30, 1, 5]], [[32, 1, 31]], [[5, 40, 3, 64, 31]], [[100, 100]]])(
    'lead to the ids of the deliveries, taken in groups of %j',
    async (sizes) => {
      const entityId = await newEntity(store.db);
      const ids: string[] = [];
      for (const size of sizes) {
        const taken = await take(store, entityId, Array(size).fill(4));
        ids.push(...taken.map(({ hex }) => hex));
        expect(await idsByNumber(store, entityId)).toEqual(new Map(ids.map((id, index) => [index + 1, id])));
      }
    },
  );
});

/** From the blocks, and from the row of the counter for those after them. */
async function idsByNumber({ db }: TestStore, entityId: string): Promise<Map<number, string>> {
  const key = [entityKey(db.dialect, entityId)];
  const blocks = await db.all<{ first: SqlInteger; ids: string }>(
    `select first_sequence as first, ids from endpoint_numbers where entity_id = $1 order by first_sequence`,
    key,
  );
  const last = await db.get<{ last: SqlInteger; recent: string }>(
    'select last_sequence as last, recent from endpoint_sequences where entity_id = $1',
    key,
  );
  if (last === undefined) throw new Error('no counter');
  const recent = { first: Number(last.last) - last.recent.length / ID_DIGITS + 1, ids: last.recent };
  const found = new Map<number, string>();
  for (const { first, ids } of [...blocks, recent]) {
    for (const [index, [id]] of [...ids.matchAll(/.{32}/g)].entries()) {
      const number = Number(first) + index;
      if (found.has(number)) throw new Error(`${number} is there twice`);
      found.set(number, id);
    }
  }
  return found;
}
