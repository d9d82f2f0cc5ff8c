import { expect, test } from 'bun:test';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { PAUSED_ALERT } from '../../../src/store/chain/halt.ts';
import type { Lease } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources, readSourcesToTry } from '../../../src/store/chain/sources/followed.ts';
import { withoutOutdated } from '../../../src/store/chain/sources/outdated.ts';
import { createSource, deleteSource, readSource } from '../../../src/store/chain/sources/sources.ts';
import { type SourceUpdate, updateSource } from '../../../src/store/chain/sources/update.ts';
import { readTokens, saveTokens } from '../../../src/store/chain/tokens.ts';
import { setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { PLAIN_STEP } from '../../support/chain/steps.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
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

onSuiteEngine('the sources of a network', (store) => {
  const create = async (entityId: string, definition: SourceDefinition, head = 100) => {
    const topics = [null, null, ['0x22'], null];
    const prepared = { definition, topic: '0x11', topics, head };
    return (await createSource(store.db, entityId, prepared, 100, TEST_CHANGE)).source.sourceId;
  };

  test('have meters, to which a step adds the costs of sources that still exist', async () => {
    const networkId = ++lastNetworkId;
    const entityId = await newEntity(store.db);
    const [kept, gone] = [
      await create(entityId, definitionOf(networkId)),
      await create(entityId, definitionOf(networkId, { fromBlock: 5 })),
    ];
    const networks = new NetworkStore(store.db, 'one', () => Promise.resolve([]));
    await deleteSource(store.db, entityId, gone, TEST_CHANGE);
    const levels = { tip: null, anchors: [], head: 100, safe: null, final: null, blockTimeMs: null, rangeBlocks: 1 };
    for (const [requests, logs] of [
      [3, 40],
      [1, 0],
    ] as const) {
      const lease = await networks.lease(networkId);
      if (lease === null) throw new Error('the network is not free');
      const costs = [kept, gone].map((sourceId) => ({ entityId, sourceId, requests, logs }));
      const nothing = { changes: [], backfilled: [], asked: [], nodes: [] };
      expect(await networks.commit(lease, { ...PLAIN_STEP, ...levels, ...nothing, costs })).toBe(true);
    }
    expect(await readSource(store.db, entityId, kept)).toMatchObject({ logRequests: 4, logsReceived: 40 });
  });

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

onSuiteEngine('a source that changes', (store) => {
  const other = [`0x${'3'.repeat(40)}`];

  async function setUp(more: Partial<SourceDefinition> = {}) {
    const networkId = ++lastNetworkId;
    const entityId = await newEntity(store.db);
    const definition = definitionOf(networkId, more);
    const prepared = { definition, topic: '0x11', topics: [null, null, ['0x22'], null], head: 100 };
    const { source } = await createSource(store.db, entityId, prepared, 100, TEST_CHANGE);
    const update = (changes: SourceUpdate, revision = 1) =>
      updateSource(store.db, entityId, source.sourceId, revision, changes, TEST_CHANGE);
    const newWhere = {
      ...prepared,
      definition: { ...definition, where: { to: other } },
      topics: [null, null, ['0x33'], null],
    };
    const setNetwork = (levels: { head: number; tip: number; final: number }) =>
      store.db.transaction(async (queries) => {
        await queries.run('delete from chains where network_id = $1', [networkId]);
        await queries.run('insert into chains (network_id, head, tip_number, final) values ($1, $2, $3, $4)', [
          networkId,
          ...[levels.head, levels.tip, levels.final],
        ]);
      });
    const setProgress = (next: number | null, last: number | null) =>
      store.db.transaction((queries) =>
        queries.run('update sources set next_block = $2, last_block = $3 where id = $1', [source.sourceId, next, last]),
      );
    const sources = new FollowedSources();
    const followed = async () => (await sources.read(store.db, networkId))[0];
    return { networkId, entityId, source, prepared: newWhere, definition, update, setNetwork, setProgress, followed };
  }

  test('counts from the block after the newest that Paybell or the node knows, and keeps the definition before', async () => {
    const { prepared, definition, update, setNetwork, followed } = await setUp();
    expect(await followed()).toMatchObject({ revision: 1, appliesFrom: 101, earlier: [] });
    await setNetwork({ head: 150, tip: 140, final: 90 });
    expect(await update({ prepared })).toMatchObject({
      kind: 'updated',
      source: { revision: 2, appliesFromBlock: 151 },
    });
    expect(await followed()).toMatchObject({
      ...{ revision: 2, appliesFrom: 151, topics: [null, null, ['0x33'], null], definition: { where: { to: other } } },
      earlier: [{ revision: 1, definition, topics: [null, null, ['0x22'], null], fromBlock: 101, untilBlock: 150 }],
    });
    expect(await update({ prepared: { ...prepared, head: 160 } })).toMatchObject({ kind: 'outdated' });
    const again = { ...prepared, definition, head: 160 };
    expect(await update({ prepared: again }, 2)).toMatchObject({ source: { revision: 3, appliesFromBlock: 161 } });
    expect((await followed())?.earlier?.map(({ revision, untilBlock }) => [revision, untilBlock])).toEqual([
      [1, 150],
      [2, 160],
    ]);
  });

  test('has no new fact of its old definition in a block of the new one', async () => {
    const { entityId, networkId, source, prepared, update, setNetwork } = await setUp();
    await setNetwork({ head: 150, tip: 150, final: 90 });
    await update({ prepared });
    const factIn = (blockNumber: number, sourceRevision: number) => ({
      change: 'seen' as const,
      fact: {
        ...{
          entityId,
          networkId,
          sourceId: source.sourceId,
          sourceRevision,
          factId: `fct_${blockNumber}_${sourceRevision}`,
        },
        ...{ kind: 'Transfer', isSilent: false, transactionHash: '0x1', contract: '0x2', fields: {} },
        position: { blockNumber, blockHash: '0x3', logIndex: 0 },
        ...{ transferId: null, agreementId: null },
      },
    });
    const changes = [factIn(150, 1), factIn(151, 1), factIn(151, 2)];
    expect(await withoutOutdated(store.db, changes)).toEqual([factIn(150, 1), factIn(151, 2)]);
  });

  test('keeps the blocks that a change left to read, whatever a poll that began before it writes', async () => {
    const { networkId, update, prepared, setNetwork, setProgress, followed } = await setUp({ fromBlock: 5 });
    await setNetwork({ head: 150, tip: 140, final: 90 });
    await setProgress(20, 80);
    const sources = new FollowedSources();
    const networks = new NetworkStore(store.db, 'one', (queries, id) => sources.read(queries, id));
    const backfill = async (lease: Lease, nextBlock: number) => {
      const { tip, anchors, head, safe, final, blockTimeMs } = lease.state;
      const levels = { tip, anchors, head: head ?? 0, safe, final, blockTimeMs, rangeBlocks: 1 };
      const backfilled = lease.sources.map((source) => ({ ...source, nextBlock, lastBlock: 80 }));
      await networks.commit(lease, { ...PLAIN_STEP, ...levels, changes: [], backfilled, asked: [], nodes: [] });
      return followed();
    };
    const leased = async () => (await networks.lease(networkId)) ?? ({} as Lease);
    const first = await leased();
    expect(await backfill(first, 30)).toMatchObject({ nextBlock: 30, lastBlock: 80 });
    // Of a lease that does not know the progress since.
    expect(await backfill(first, 40)).toMatchObject({ nextBlock: 30, lastBlock: 80 });
    const second = await leased();
    await update({ prepared });
    expect(await backfill(second, 40)).toMatchObject({ nextBlock: 30, lastBlock: null });
  });

  test.each([
    ['reads from the change on', [91, 90], 151],
    ['reads older blocks that were unread', [20, 80], 20],
    ['reads from its first block', [null, null], null],
  ] as const)('%s if a poll read on by the old definition', async (_, [next, last], expected) => {
    const { update, prepared, setNetwork, setProgress, followed } = await setUp({ fromBlock: 5 });
    await setNetwork({ head: 150, tip: 140, final: 90 });
    await setProgress(next, last);
    await update({ prepared });
    expect(await followed()).toMatchObject({ nextBlock: expected, lastBlock: null });
  });

  test('keeps the definitions of the blocks of its pause, however many are final', async () => {
    const { definition, prepared, update, setNetwork, setProgress, followed } = await setUp({ fromBlock: 5 });
    await setNetwork({ head: 150, tip: 140, final: 90 });
    await setProgress(91, 90);
    await update({ isPaused: true });
    for (let time = 1; time <= 10; time++) {
      const head = 200 + 10 * time;
      await setNetwork({ head, tip: head, final: head });
      const where = { to: [`0x${String(time).padStart(40, '0')}`] };
      const result = await update({ prepared: { ...prepared, definition: { ...definition, where } } }, time);
      expect(result.kind).toBe('updated');
    }
    await setNetwork({ head: 400, tip: 400, final: 400 });
    expect(await update({ prepared }, 11)).toEqual({ kind: 'too_many', finalAtBlock: 210, isPaused: true });
    await update({ isPaused: false });
    await update({ isPaused: true });
    await update({ isPaused: false });
    expect(await followed()).toMatchObject({ nextBlock: 91, lastBlock: null });
  });

  test('is tried again after a flood: after a minute, after two, and after a minute again if it was read for an hour', async () => {
    const { networkId, entityId, source, update, setNetwork, setProgress } = await setUp({ fromBlock: 5 });
    const { sourceId } = source;
    await setNoticeUrl(store.db, entityId, 'https://alerts.example.com/paybell', TEST_CHANGE);
    await setNetwork({ head: 150, tip: 140, final: 90 });
    await setProgress(91, 90);
    const sources = new FollowedSources();
    const networks = new NetworkStore(store.db, 'one', (queries, id) => sources.read(queries, id));
    const poll = async () => (await networks.lease(networkId)) ?? ({} as Lease);
    const flood = async () => {
      await networks.pauseSources(
        await poll(),
        [{ entityId, sourceId }],
        'The source takes more logs than can be read.',
      );
      const sql = 'select retry_at_ms - paused_at_ms as wait from sources where id = $1';
      return Number((await store.db.get<{ wait: number | string }>(sql, [sourceId]))?.wait);
    };
    const later = (ms: number) =>
      store.db.transaction((queries) =>
        queries.run('update sources set retry_at_ms = retry_at_ms - $2 where id = $1', [sourceId, ms]),
      );
    const countAlerts = async () => {
      const sql = `select count(*) as alerts from events where network_id = $1 and event = '${PAUSED_ALERT}'`;
      return Number((await store.db.get<{ alerts: number | string }>(sql, [networkId]))?.alerts);
    };
    expect(await flood()).toBe(60_000);
    expect((await poll()).sources).toEqual([]);
    await later(60_000);
    expect((await poll()).sources).toMatchObject([{ sourceId, nextBlock: 91, lastBlock: null }]);
    expect(await flood()).toBe(120_000);
    expect(await countAlerts()).toBe(1);
    await later(120_000 + 3_600_001);
    expect(await flood()).toBe(60_000);
    expect(await countAlerts()).toBe(2);
    // Of a clock that was set back by two hours.
    await later(-7_200_000);
    expect((await poll()).sources).toHaveLength(1);
    await flood();
    await setNetwork({ head: 250, tip: 240, final: 190 });
    await update({ isPaused: true });
    await later(7_200_000);
    expect((await poll()).sources).toEqual([]);
    await update({ isPaused: false });
    expect((await poll()).sources).toMatchObject([{ sourceId, nextBlock: 91, lastBlock: null }]);
  });

  test.each([
    ['the last final block', [91, 90], 91],
    ['an older block that was unread', [20, 80], 20],
    ['its first block, before the holder of the network saw it', [null, null], null],
  ] as const)('continues after a pause at %s', async (_, [next, last], expected) => {
    const { update, setNetwork, setProgress, followed } = await setUp({ fromBlock: 5 });
    await setNetwork({ head: 150, tip: 140, final: 90 });
    await setProgress(next, last);
    await update({ isPaused: true });
    expect(await followed()).toBeUndefined();
    await setNetwork({ head: 250, tip: 240, final: 190 });
    await update({ isPaused: false });
    expect(await followed()).toMatchObject({ nextBlock: expected, lastBlock: null });
  });
});

onSuiteEngine('the decimals and symbols of tokens', (store) => {
  test('are kept for each network, even if a token does not state them, and the first to know is right', async () => {
    const [one, two] = [++lastNetworkId, ++lastNetworkId];
    const addresses = Array.from({ length: 250 }, (_, n) => `0x${n.toString(16).padStart(40, '0')}`);
    const tokens = new Map(
      addresses.map((address, n) => [
        address,
        { decimals: n % 3 === 0 ? null : n % 78, symbol: n % 2 === 0 ? null : `T${n}` },
      ]),
    );
    await saveTokens(store.db, one, tokens);
    await saveTokens(store.db, one, new Map([[addresses[1] ?? '', { decimals: 18, symbol: 'USDC' }]]));
    await saveTokens(store.db, one, new Map());
    expect(await readTokens(store.db, one, [...addresses, '0xffff'])).toEqual(tokens);
    expect(await readTokens(store.db, two, addresses)).toEqual(new Map());
  });
});
