import { describe, expect, test } from 'bun:test';
import { ClaimReturns } from '../../../src/delivery/queue/claim-returns.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { createLogger } from '../../../src/log.ts';
import { type SqlValue, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { accept, acceptMany, addReceiver, claim, newEvent, newReceiver } from '../../support/deliveries.ts';
import { alteredStore, alteredTransactions, onSuiteEngine } from '../../support/stores.ts';

const DESTINATIONS = 30;
const urlOf = (index: number) => `https://hooks-${index}.example.com/`;

onSuiteEngine('claims that are returned', (store) => {
  /** One delivery to each of many destinations, claimed. */
  async function claimMany(): Promise<{ entityId: string; claimed: Claimed[] }> {
    const { entityId } = await newReceiver(store.db, urlOf(0));
    for (let index = 1; index < DESTINATIONS; index++) await addReceiver(store.db, entityId, urlOf(index));
    await accept(store.db, newEvent(entityId));
    const claimed: Claimed[] = [];
    for (let index = 0; index < DESTINATIONS; index++) {
      claimed.push(...(await claim(store.db, entityId, 1, urlOf(index))));
    }
    return { entityId, claimed };
  }

  test('by many destinations at once take one transaction, and are due again', async () => {
    const { entityId, claimed } = await claimMany();
    let transactions = 0;
    const db = alteredStore(store.db, {
      transaction: (work, options) => {
        transactions++;
        return store.db.transaction(work, options);
      },
    });
    const returned = new Set<string>();
    const onReturned = (destinations: ReadonlySet<string>) => {
      for (const destination of destinations) returned.add(destination);
    };
    const returns = new ClaimReturns({ db, log: createLogger('silent'), onReturned });
    for (const delivery of claimed) returns.add([delivery]);
    await returns.finished();
    expect(transactions).toBe(1);
    expect(returned).toEqual(new Set(claimed.map(({ destination }) => destination)));
    for (let index = 0; index < DESTINATIONS; index++) {
      expect(await claim(store.db, entityId, 1, urlOf(index))).toHaveLength(1);
    }
  });

  test('of a server that is down keep no others, where the tables are distributed', async () => {
    const entities: string[] = [];
    const claimed: Claimed[] = [];
    for (let index = 0; index < 3; index++) {
      const { entityId } = await newReceiver(store.db, urlOf(0));
      await acceptMany(store.db, entityId, 60);
      entities.push(entityId);
      claimed.push(...(await claim(store.db, entityId, 60, urlOf(0))));
    }
    const { dialect } = store.db;
    const [, down = ''] = entities;
    const isDown = (value: SqlValue) => value?.toString() === entityKey(dialect, down).toString();
    const distributed = alteredStore(store.db, { dialect: { ...dialect, isDistributed: true } });
    const db = alteredTransactions(distributed, (queries) => ({
      run: (sql, params = []) =>
        params.some(isDown) ? Promise.reject(new StoreUnavailableError('away')) : queries.run(sql, params),
    }));
    const returned = new Set<string>();
    const onReturned = (destinations: ReadonlySet<string>) => {
      for (const destination of destinations) returned.add(destination);
    };
    const returns = new ClaimReturns({ db, log: createLogger('silent'), onReturned });
    returns.add(claimed);
    await returns.finished();
    const again = await Promise.all(entities.map((entityId) => claim(store.db, entityId, 60, urlOf(0))));
    expect(again.map(({ length }) => length)).toEqual([60, 0, 60]);
    expect(returned).toEqual(
      new Set(entities.filter((one) => one !== down).map((one) => destinationKey(one, urlOf(0)))),
    );
  });
});

describe('claims that cannot be returned', () => {
  test('wait for the store once, however many there are', async () => {
    let transactions = 0;
    const transaction = () => {
      transactions++;
      return Promise.reject(new StoreUnavailableError('away'));
    };
    const returns = new ClaimReturns({
      db: { transaction, dialect: { isDistributed: false } } as never,
      log: createLogger('silent'),
      onReturned: () => expect.unreachable(),
    });
    const delivery = { destination: destinationKey('ent_1', urlOf(0)) } as Claimed;
    returns.add(Array.from({ length: 1_000 }, () => delivery));
    await returns.finished();
    expect(transactions).toBe(1);
  });
});
