import { expect, test } from 'bun:test';
import { PAUSED_ALERT } from '../../../src/store/chain/halt.ts';
import type { Lease, SourceKey } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const ALERTS = 'https://alerts.example.com/paybell';
const REASON = 'The contract has more logs than can be read.';
let lastNetworkId = 11_000;

onEveryEngine('a network with sources', (store) => {
  /** A source for each of several entities that have a URL for alerts. */
  async function newNetwork(entities: number): Promise<{ networkId: number; sources: SourceKey[] }> {
    const networkId = ++lastNetworkId;
    const sources: SourceKey[] = [];
    for (let count = 0; count < entities; count++) {
      const entityId = await newEntity(store.db);
      await setNoticeUrl(store.db, entityId, ALERTS, TEST_CHANGE);
      const definition = {
        ...({ networkId, preset: 'erc20', contract: `0x${'1'.repeat(40)}`, abi: null, event: null } as const),
        ...({ where: {}, fields: {}, fromBlock: 'latest', deliverHistory: false } as const),
      };
      const prepared = { definition, topic: '0x11', topics: [], head: 100 };
      const { source } = await createSource(store.db, entityId, prepared, 100, TEST_CHANGE);
      sources.push({ entityId, sourceId: source.sourceId });
    }
    return { networkId, sources };
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
  const alerts = async (networkId: number, event: string) => {
    const rows = await store.db.all<{ body: string }>('select body from events where network_id = $1 and event = $2', [
      networkId,
      event,
    ]);
    return rows.map(({ body }) => JSON.parse(body));
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
});
