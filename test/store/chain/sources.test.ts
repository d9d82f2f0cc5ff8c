import { expect, test } from 'bun:test';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { FollowedSources, readSourcesToTry } from '../../../src/store/chain/sources/followed.ts';
import { createSource, deleteSource } from '../../../src/store/chain/sources/sources.ts';
import { readTokens, saveTokens } from '../../../src/store/chain/tokens.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { rejection } from '../../support/rejection.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

let lastNetworkId = 9_000;

function definitionOf(networkId: number, more: Partial<SourceDefinition> = {}): SourceDefinition {
  return {
    networkId,
    preset: 'erc20',
    contract: `0x${'1'.repeat(40)}`,
    abi: null,
    event: null,
    where: { to: [`0x${'2'.repeat(40)}`] },
    fields: {},
    fromBlock: 'latest',
    deliverHistory: false,
    ...more,
  };
}

onEveryEngine('the sources of a network', (store) => {
  const create = async (entityId: string, definition: SourceDefinition, head = 100) => {
    const topics = [null, null, ['0x22'], null];
    const prepared = { definition, topic: '0x11', topics, head };
    return (await createSource(store.db, entityId, prepared, 100, TEST_CHANGE)).source.sourceId;
  };

  test('are read in the order of their creation, without those of other networks and those that are paused', async () => {
    const networkId = ++lastNetworkId;
    const [one, two] = [await newEntity(store.db), await newEntity(store.db)];
    const first = await create(one, definitionOf(networkId));
    const paused = await create(one, definitionOf(networkId, { fromBlock: 5 }));
    await create(one, definitionOf(++lastNetworkId));
    const last = await create(two, definitionOf(networkId, { fromBlock: 7, deliverHistory: true }));
    await store.db.transaction((queries) => queries.run('update sources set paused_at_ms = 1 where id = $1', [paused]));
    const sources = new FollowedSources();
    const read = await sources.read(store.db, networkId);
    expect(read.map(({ sourceId }) => sourceId)).toEqual([first, last]);
    expect(read).toMatchObject([
      { entityId: one, fromBlock: 101, createdHead: 100, deliverHistory: false, nextBlock: null, lastBlock: null },
      { entityId: two, fromBlock: 7, createdHead: 100, deliverHistory: true },
    ]);
    expect(read[0]).toMatchObject({
      topic: '0x11',
      topics: [null, null, ['0x22'], null],
      definition: definitionOf(networkId),
    });
    // Their progress is read each time, their definitions once.
    await store.db.transaction(async (queries) => {
      await queries.run(`update sources set next_block = 8, last_block = 9, definition = '{}' where id = $1`, [last]);
    });
    expect((await sources.read(store.db, networkId))[1]).toMatchObject({
      nextBlock: 8,
      lastBlock: 9,
      definition: { fromBlock: 7 },
    });
    await deleteSource(store.db, one, first, TEST_CHANGE);
    expect((await sources.read(store.db, networkId)).map(({ sourceId }) => sourceId)).toEqual([last]);
  });

  test('of one entity are tried on logs of any block, also those that are paused', async () => {
    const networkId = ++lastNetworkId;
    const [one, two] = [await newEntity(store.db), await newEntity(store.db)];
    const mine = await create(one, definitionOf(networkId));
    await create(two, definitionOf(networkId));
    await store.db.transaction((queries) => queries.run('update sources set paused_at_ms = 1 where id = $1', [mine]));
    expect(await readSourcesToTry(store.db, one, networkId)).toMatchObject([{ sourceId: mine, fromBlock: 0 }]);
  });

  test('are not created for an entity that does not exist', async () => {
    expect(await rejection(create('ent_none', definitionOf(1)))).toMatchObject({ kind: 'entity_not_found' });
  });

  test('one definition that is posted many times at once is one source', async () => {
    const networkId = ++lastNetworkId;
    const entityId = await newEntity(store.db);
    const ids = await Promise.all(Array.from({ length: 10 }, () => create(entityId, definitionOf(networkId))));
    expect(new Set(ids).size).toBe(1);
  });
});

onEveryEngine('the decimals of tokens', (store) => {
  test('are kept for each network, also that a token does not say them, and the first to know is right', async () => {
    const [one, two] = [++lastNetworkId, ++lastNetworkId];
    const addresses = Array.from({ length: 250 }, (_, n) => `0x${n.toString(16).padStart(40, '0')}`);
    const decimals = new Map(addresses.map((address, n) => [address, n % 3 === 0 ? null : n % 78]));
    await saveTokens(store.db, one, decimals);
    await saveTokens(store.db, one, new Map([[addresses[1] ?? '', 18]]));
    await saveTokens(store.db, one, new Map());
    expect(await readTokens(store.db, one, [...addresses, '0xffff'])).toEqual(decimals);
    expect(await readTokens(store.db, two, addresses)).toEqual(new Map());
  });
});
