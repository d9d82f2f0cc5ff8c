import { expect, test } from 'bun:test';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../src/chain/evm/reader.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { HALTED_ALERT, PAUSED_ALERT } from '../../../src/store/chain/halt.ts';
import type { Lease, SourceKey } from '../../../src/store/chain/network-store.ts';
import { NetworkStore, resumeNetwork } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import type { Database, Queries, SqlUuid } from '../../../src/store/database/database.ts';
import { setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { modelDecoder } from '../../support/chain/model-decoder.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredQueries, alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { countTasks, runTasks } from '../../support/tasks.ts';
import { newEntity } from '../../support/webhooks.ts';

const ALERTS = 'https://alerts.example.com/paybell';
const REASON = 'The contract has more logs than can be read.';
/** More than an alert takes. */
const MAX_STATEMENTS = 25;
/** Each gets its alert by its own task. */
const ENTITIES = suiteRuns(60, 250);
let lastNetworkId = 11_000;

onSuiteEngine('a network with sources', (store) => {
  /** A source for each of several entities that have a URL for alerts. */
  async function newNetwork(entities: number): Promise<{ networkId: number; sources: SourceKey[] }> {
    const networkId = ++lastNetworkId;
    const definition = {
      ...({ networkId, preset: 'erc20', contract: `0x${'1'.repeat(40)}`, abi: null, event: null } as const),
      ...({ where: {}, fields: {}, fromBlock: 'latest', deliverHistory: false } as const),
    };
    const newSource = async (): Promise<SourceKey> => {
      const entityId = await newEntity(store.db);
      await setNoticeUrl(store.db, entityId, ALERTS, TEST_CHANGE);
      const prepared = { definition, topic: '0x11', topics: [], head: 100 };
      const { source } = await createSource(store.db, entityId, prepared, 100, TEST_CHANGE);
      return { entityId, sourceId: source.sourceId };
    };
    return { networkId, sources: await Promise.all(Array.from({ length: entities }, newSource)) };
  }

  const instance = (holder: string, db: Database = store.db) => {
    const followed = new FollowedSources();
    return new NetworkStore(db, holder, (queries, networkId) => followed.read(queries, networkId));
  };
  const lease = async (networks: NetworkStore, networkId: number): Promise<Lease> => {
    const found = await networks.lease(networkId);
    if (found === null) throw new Error('another instance holds the lease');
    return found;
  };
  /** How many entities have an alert; none has two. */
  const toldOnce = async (networkId: number, event: string) => {
    const sql = 'select entity_id from events where network_id = $1 and event = $2';
    const rows = await store.db.all<{ entity_id: SqlUuid }>(sql, [networkId, event]);
    expect(new Set(rows.map((row) => store.db.dialect.hexOf(row.entity_id))).size).toBe(rows.length);
    return rows.length;
  };
  const alerts = async (networkId: number, event: string) => {
    const rows = await store.db.all<{ body: string }>('select body from events where network_id = $1 and event = $2', [
      networkId,
      event,
    ]);
    return rows.map(({ body }) => JSON.parse(body));
  };

  /** Refuses a transaction of many statements; the process dies after so many alerts. */
  const mortal = (alertsLeft: number): Database =>
    alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction((queries) => {
          let statements = 0;
          const counted = (sql: string): Queries => {
            if (++statements > MAX_STATEMENTS) throw new Error('the transaction has no bound');
            if (sql.includes('insert into events') && --alertsLeft < 0) throw new Error('the process is gone');
            return queries;
          };
          return work(
            alteredQueries(queries, {
              all: (sql, params) => counted(sql).all(sql, params),
              get: (sql, params) => counted(sql).get(sql, params),
              run: (sql, params) => counted(sql).run(sql, params),
            }),
          );
        }, options),
    });
  /** One poll by another instance. */
  const pollElsewhere = async (networkId: number) => {
    await instance('one').release(networkId);
    const exchange = () => Promise.reject(new Error('a halted network is not read'));
    const node = new Node({ name: 'none', identity: evmIdentity(networkId), exchange, callsPerSecond: 1 });
    const options = {
      networkId,
      finalityDepth: null,
      graceBlocks: 3,
      leastDepth: 1,
      quorum: null,
      reader: new EvmReader(modelDecoder),
    };
    const follower = new Follower({ ...options, store: instance('two'), nodes: new Nodes([node]) });
    return (await follower.poll()).outcome;
  };

  test('pauses none for an instance whose lease another one has taken', async () => {
    const { networkId, sources } = await newNetwork(2);
    const [late, next] = [instance('late'), instance('next')];
    const stale = await lease(late, networkId);
    await late.release(networkId);
    const taken = await lease(next, networkId);
    const isDone = await late.pauseSources(stale, sources, REASON);
    expect((await lease(next, networkId)).sources).toHaveLength(2);
    expect(await alerts(networkId, PAUSED_ALERT)).toEqual([]);
    expect(isDone).toBe(false);
    expect(await next.pauseSources(taken, sources, REASON)).toBe(true);
    expect((await lease(next, networkId)).sources).toEqual([]);
    expect((await alerts(networkId, PAUSED_ALERT)).map(({ sourceId }) => sourceId).sort()).toEqual(
      sources.map(({ sourceId }) => sourceId).sort(),
    );
  });

  test('is halted at once, and all are told of it, each once, also after a crash', async () => {
    const { networkId } = await newNetwork(ENTITIES);
    const networks = instance('one');
    await networks.halt(await lease(networks, networkId), REASON);
    expect((await lease(networks, networkId)).state).toMatchObject({ haltedReason: REASON });
    await rejection(runTasks(mortal(17)));
    expect(await toldOnce(networkId, HALTED_ALERT)).toBe(17);
    expect(await pollElsewhere(networkId)).toBe('halted');
    await runTasks(store.db);
    expect(await toldOnce(networkId, HALTED_ALERT)).toBe(ENTITIES);
    const [alert] = await alerts(networkId, HALTED_ALERT);
    expect(alert).toMatchObject({ networkId, reason: REASON, dateHalted: expect.any(Number) });
    expect(await countTasks(store.db)).toBe(0);
  });

  test('tells no more of a halt once it is resumed, and all of the next halt', async () => {
    const { networkId } = await newNetwork(3);
    const networks = instance('one');
    await networks.halt(await lease(networks, networkId), REASON);
    await rejection(runTasks(mortal(1)));
    await resumeNetwork(store.db, networkId, 90);
    await runTasks(store.db);
    expect(await toldOnce(networkId, HALTED_ALERT)).toBe(1);
    await networks.halt(await lease(networks, networkId), REASON);
    await rejection(runTasks(mortal(2)));
    await resumeNetwork(store.db, networkId, 90);
    await networks.halt(await lease(networks, networkId), REASON);
    await runTasks(store.db);
    expect(await alerts(networkId, HALTED_ALERT)).toHaveLength(1 + 2 + 3);
  });

  test('pauses many in transactions that are bounded, and the rest after a crash', async () => {
    const { networkId, sources } = await newNetwork(40);
    const networks = instance('one', mortal(17));
    const held = await lease(networks, networkId);
    await rejection(networks.pauseSources(held, sources, REASON));
    const rest = (await lease(networks, networkId)).sources;
    expect(rest).toHaveLength(23);
    expect(await toldOnce(networkId, PAUSED_ALERT)).toBe(17);
    expect(await instance('one').pauseSources(held, sources, REASON)).toBe(true);
    expect((await lease(networks, networkId)).sources).toEqual([]);
    expect(await toldOnce(networkId, PAUSED_ALERT)).toBe(40);
  });
});
