import { expect, test } from 'bun:test';
import { auditListQuerySchema } from '../../../src/contract/audit.ts';
import { deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import { eventListQuerySchema } from '../../../src/contract/events/accepted-event.ts';
import { webhookListQuerySchema } from '../../../src/contract/webhooks.ts';
import type { Database, Reads } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { countWaiting } from '../../../src/store/deliveries/counts/queue-depth.ts';
import { EntityUsage } from '../../../src/store/deliveries/counts/usage.ts';
import { countStatuses, listDeliveries, readDelivery } from '../../../src/store/deliveries/read.ts';
import { readRedelivery, startRedelivery } from '../../../src/store/deliveries/redeliver/bulk.ts';
import { countRedelivering } from '../../../src/store/deliveries/redeliver/count.ts';
import { readFeed } from '../../../src/store/endpoints/read-feed.ts';
import { listEvents, readEvent } from '../../../src/store/events/read.ts';
import { oldestDueAgeMs, readStats } from '../../../src/store/stats/read.ts';
import { listAudit } from '../../../src/store/tenants/audit.ts';
import { findRevision } from '../../../src/store/tenants/entities.ts';
import { readSigningMaterial } from '../../../src/store/tenants/secrets.ts';
import { countMatching } from '../../../src/store/webhooks/change.ts';
import { readCoverage } from '../../../src/store/webhooks/coverage.ts';
import { walkWebhooks } from '../../../src/store/webhooks/export.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { TEST_BOX } from '../../support/api.ts';
import { acceptMany, newReceiver, readDeliveries } from '../../support/deliveries.ts';
import { onlyOn } from '../../support/only-on.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';

/** The store, and which of its reads were used. */
function noting(db: Database): { db: Database; used: () => string[] } {
  const used = new Set<string>();
  const noted = (reads: Reads, name: string): Reads => ({
    all: (sql, params) => {
      used.add(name);
      return reads.all(sql, params);
    },
    get: (sql, params) => {
      used.add(name);
      return reads.get(sql, params);
    },
    snapshot: (work) => {
      used.add(name);
      return reads.snapshot(work);
    },
  });
  const short = noted(db, 'short');
  const long = noted(db.longReads, 'long');
  const store = new Proxy(alteredStore(db, short), {
    get: (target, name) => (name === 'longReads' ? long : Reflect.get(target, name)),
  });
  return { db: store, used: () => [...used].sort() };
}

type Read = (db: Database, entityId: string) => Promise<unknown>;

const CHANGE = { actor: 'test', nowS: 1_763_168_400 };
const DAY = { intervalS: 3_600, startS: 0, endS: 86_400 };

/** Each reads as many rows as an entity has, or as the store has. */
const LONG: Record<string, Read> = {
  'a list of deliveries': (db, entityId) => listDeliveries(db, entityId, deliveryListQuerySchema.parse({})),
  'a count of deliveries': (db, entityId) => countStatuses(db, entityId, {}),
  'a count of what a bulk redelivery would send': (db, entityId) => countRedelivering(db, entityId, {}),
  'the start of a bulk redelivery': (db, entityId) => startRedelivery(db, entityId, {}, CHANGE),
  'the progress of a bulk redelivery': (db, entityId) => readRedelivery(db, entityId, `rdl_${'0'.repeat(32)}`),
  'a list of events': (db, entityId) => listEvents(db, entityId, eventListQuerySchema.parse({})),
  'a list of changes': (db, entityId) => listAudit(db, entityId, auditListQuerySchema.parse({})),
  'an export of webhooks': async (db, entityId) => await Array.fromAsync(walkWebhooks(db, entityId)),
  'a rehearsal of a bulk change': (db, entityId) => countMatching(db, entityId, {}, null),
  'the coverage of an entity': (db, entityId) => readCoverage(db, entityId, { networks: [1], events: [] }),
  'the statistics of an entity': (db, entityId) => readStats(db, entityId, DAY, undefined),
  'the age of the oldest delivery': oldestDueAgeMs,
};

/** Each reads a bounded number of rows by their keys. */
const SHORT: Record<string, Read> = {
  'the first page of webhooks': (db, entityId) => listWebhooks(db, entityId, webhookListQuerySchema.parse({})),
  'one delivery': async (db, entityId) => {
    const [first] = await readDeliveries(db, entityId);
    return readDelivery(db, entityId, first?.deliveryId ?? '');
  },
  'a page of a feed': (db, entityId) => readFeed(db, { entityId, endpointNo: 1 }, { after: 0, limit: 100 }),
  'one event': (db, entityId) => readEvent(db, entityId, 'evt_unknown'),
  'a revision': findRevision,
  'the keys that sign a request': (db, entityId) => readSigningMaterial(db, TEST_BOX, entityId, CHANGE.nowS),
  'the backlog of an entity with few webhooks': (db, entityId) => new EntityUsage(db, 10).read(entityId),
};

onEveryEngine('reads', (store) => {
  const onSqlite = onlyOn('sqlite', store);
  const entityOfMany = async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    return entityId;
  };

  test.each(Object.entries(LONG))('%s is a long read', async (_, read) => {
    const { db, used } = noting(store.db);
    await read(db, await entityOfMany());
    expect(used()).toEqual(['long']);
  });

  test.each(Object.entries(SHORT))('%s is not', async (_, read) => {
    const { db, used } = noting(store.db);
    await read(db, await entityOfMany());
    expect(used()).toEqual(['short']);
  });

  test('what waits in the whole store is counted by long reads, but for the heads, which come by the page', async () => {
    await entityOfMany();
    const { db, used } = noting(store.db);
    await countWaiting(db);
    expect(used()).toEqual(['long', 'short']);
  });

  // The length is made up, and PostgreSQL rejects the statement for a page on which there is nothing.
  onSqlite('a page of webhooks that is deep in a long list is a long read', async () => {
    const entityId = await entityOfMany();
    await store.db.transaction((queries) =>
      queries.run('update webhook_counts set webhooks = 1000000 where entity_id = $1', [entityId]),
    );
    const { db, used } = noting(store.db);
    await listWebhooks(db, entityId, webhookListQuerySchema.parse({ page: '1', limit: '100' }));
    expect(used()).toEqual(['short']);
    await listWebhooks(db, entityId, webhookListQuerySchema.parse({ page: '5000', limit: '100' }));
    expect(used()).toEqual(['long', 'short']);
  });

  test('the backlog of an entity with many webhooks is summed up by a long read', async () => {
    const entityId = await entityOfMany();
    const entity = entityKey(store.db.dialect, entityId);
    await store.db.transaction(async (queries) => {
      for (let webhookNo = 1_000; webhookNo < 2_000; webhookNo++) {
        await queries.run(
          'insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying) values ($1, $2, 0, 1, 0)',
          [entity, webhookNo],
        );
      }
    });
    const { db, used } = noting(store.db);
    // Counters without a head are of webhooks that take no deliveries any more.
    expect(await new EntityUsage(db, 10).read(entityId)).toMatchObject({ waiting: 3 });
    expect(used()).toEqual(['long', 'short']);
  });
});
