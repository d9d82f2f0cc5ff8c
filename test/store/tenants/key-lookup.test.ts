import { expect, test } from 'bun:test';
import type { SqlValue } from '../../../src/store/database/database.ts';
import { KeyLookup } from '../../../src/store/tenants/key-lookup.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';

onEveryEngine('lookups of keys', (store) => {
  /** A lookup over keys named by their hash, with the revision of each holder; records the parameters of every query. */
  function recorded(revisions: Record<string, number>) {
    const queried: (readonly SqlValue[])[] = [];
    let isDown = false;
    const db = alteredStore(store.db, {
      all: async <Row>(_sql: string, params: readonly SqlValue[] = []) => {
        if (isDown) throw new Error('down');
        queried.push(params.slice(1));
        return Object.entries(revisions)
          .filter(([keyHash]) => params.includes(keyHash))
          .map(([keyHash, revision]) => ({
            keyHash,
            keyId: `key_${keyHash}`,
            entityId: 'ent_1',
            permissions: 'webhooks:read',
            revision,
          })) as Row[];
      },
    });
    const lookup = new KeyLookup(db, Date.now);
    const revisionOf = async (keyHash: string) => (await lookup.find(keyHash))?.revision ?? null;
    const setDown = (down: boolean) => {
      isDown = down;
    };
    return { queried, lookup, revisionOf, setDown };
  }

  test('of one tick share one query, which names each key once, and an unknown key is null', async () => {
    const { queried, revisionOf } = recorded({ one: 1, two: 2 });
    expect(await Promise.all(['one', 'two', 'one', 'none'].map(revisionOf))).toEqual([1, 2, 1, null]);
    expect(queried).toEqual([['one', 'two', 'none']]);
  });

  test('after the query was sent get a query of their own', async () => {
    const revisions: Record<string, number> = { one: 1 };
    const { queried, revisionOf } = recorded(revisions);
    const first = revisionOf('one');
    await new Promise((resolve) => setImmediate(resolve));
    revisions.one = 2;
    const second = revisionOf('one');
    expect([await first, await second]).toEqual([1, 2]);
    expect(queried).toHaveLength(2);
  });

  test('fail together with their query, and those of the next query do not', async () => {
    const { lookup, revisionOf, setDown } = recorded({ one: 1 });
    setDown(true);
    const failures = await Promise.all(['one', 'two'].map((keyHash) => rejection(lookup.find(keyHash))));
    expect(failures.map(({ message }) => message)).toEqual(['down', 'down']);
    setDown(false);
    expect(await revisionOf('one')).toBe(1);
  });
});
