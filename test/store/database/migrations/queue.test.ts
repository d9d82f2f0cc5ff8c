import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type DeliveryFilter,
  type DeliveryListQuery,
  deliveryListQuerySchema,
  type EventListQuery,
  eventListQuerySchema,
} from '../../../../src/contract/deliveries.ts';
import { DELIVERY_STATUSES } from '../../../../src/domain/attempt.ts';
import { DomainError } from '../../../../src/domain/errors.ts';
import { migrate, pendingMigrations } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { countStatuses, listDeliveries, readDelivery } from '../../../../src/store/deliveries/read.ts';
import { listEvents, readEvent } from '../../../../src/store/events/read.ts';
import { accept, databaseNowMs, newEvent } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { deliveriesInModel, UNRETRACTED } from '../../../support/delivery-rows.ts';
import {
  migrateToOld,
  readOldDeliveries,
  readOldEvents,
  type ShownDelivery,
  type ShownEvent,
} from '../../../support/old-store.ts';
import {
  EVENT,
  expectedNow,
  FAILING,
  FAILING_SINCE_MS,
  NETWORK_ID,
  ODD,
  OTHER_NETWORK_ID,
  QUIET,
  seedOldStore,
  USUAL,
  WEBHOOKS,
} from '../../../support/old-store-fixture.ts';
import { createTarget, ENGINES, type TestStore } from '../../../support/stores.ts';

const ofDeliveries = (given: Partial<DeliveryListQuery>): DeliveryListQuery => ({
  ...deliveryListQuerySchema.parse({}),
  limit: 100,
  ...given,
});
const ofEvents = (given: Partial<EventListQuery>): EventListQuery => ({
  ...eventListQuerySchema.parse({}),
  limit: 100,
  ...given,
});

for (const engine of ENGINES) {
  describe(`a store of the version before, converted on ${engine}`, () => {
    const store: { -readonly [Name in keyof TestStore]: TestStore[Name] } = { engine, db: undefined as never, url: '' };
    let remove: () => void;
    let shown: ShownDelivery[];
    let events: ShownEvent[];
    /** What every delivery shows now. */
    let expected: ReturnType<typeof expectedNow>[];

    beforeAll(async () => {
      const created = await createTarget(engine);
      remove = created.remove;
      store.db = await openDatabase(created.target);
      await migrateToOld(store.db);
      await seedOldStore(store.db, await databaseNowMs(store.db));
      shown = await readOldDeliveries(store.db);
      events = await readOldEvents(store.db);
      expected = shown.map(expectedNow);
      await migrate(store.db);
    });

    afterAll(async () => {
      await store.db.close();
      remove();
    });

    const ofEntity = (entityId: string) => expected.filter((row) => row.entityId === entityId);

    test('is of the newest version, and nothing is left of the old tables', async () => {
      expect(await pendingMigrations(store.db)).toEqual([]);
      for (const name of ['deliveries', 'events', 'attempts', 'entities', 'event_numbers', 'heads', 'urls']) {
        expect(await store.db.get(store.db.dialect.findTable, [`old_${name}`])).toBeUndefined();
      }
    });

    test('shows every delivery with its attempts as before', async () => {
      expect(shown.length).toBeGreaterThan(200);
      for (const { entityId, id, body, attemptLog, view } of expected) {
        expect(await readDelivery(store.db, entityId, id)).toEqual({ ...view, body, attemptLog, ...UNRETRACTED });
      }
    });

    test('shows every event as before', async () => {
      for (const { entityId, createdAtMs: _, ...view } of events) {
        expect(await readEvent(store.db, entityId, view.eventId)).toEqual(view);
      }
      for (const entityId of [USUAL, ODD, QUIET]) {
        const all = events.filter((event) => event.entityId === entityId);
        const starts = [all[0], all[3], all.at(-1)].map((event) => event?.dateCreated ?? 0);
        for (const filter of [
          {},
          ...[EVENT, 'TransferCreated', 'TransferFinalized'].map((event) => ({ event }) as const),
          { networkId: NETWORK_ID },
          { networkId: OTHER_NETWORK_ID },
          { networkId: 7 },
          ...starts.flatMap((since) => [{ since }, { until: since }, { since, until: since + 9_000 }]),
        ] as Partial<EventListQuery>[]) {
          const { event, networkId, since = 0, until = Number.POSITIVE_INFINITY } = filter;
          const matches = all
            .filter((row) => event === undefined || row.event === event)
            .filter((row) => networkId === undefined || row.networkId === networkId)
            .filter((row) => row.createdAtMs >= since * 1000 && row.createdAtMs < until * 1000)
            .map(({ entityId: _e, createdAtMs: _c, ...view }) => view);
          const list = await listEvents(store.db, entityId, ofEvents({ ...filter, sortDir: 'asc' }));
          expect(list).toEqual({ totalResults: matches.length, events: matches });
        }
      }
    });

    function* filtersOf(entityId: string): Generator<DeliveryFilter> {
      const rows = ofEntity(entityId);
      const statuses = [undefined, ...DELIVERY_STATUSES];
      const seconds = [rows[0], rows[20], rows.at(-20), rows.at(-1)].map((row) => row?.view.dateCreated ?? 0);
      const ranges = [
        {},
        ...seconds.flatMap((second) => [{ since: second }, { until: second }]),
        { since: (seconds[0] ?? 0) - 1, until: seconds[1] },
        { since: seconds[1], until: seconds[2] },
      ];
      for (const status of statuses) {
        for (const webhookId of [undefined, ...Object.values(WEBHOOKS), 'absent']) yield { status, webhookId };
        for (const range of ranges) yield { status, ...range };
        yield { status, event: EVENT };
        yield { status, event: 'TransferCreated', networkId: OTHER_NETWORK_ID };
        yield { status, networkId: OTHER_NETWORK_ID };
        yield { status, event: EVENT, networkId: OTHER_NETWORK_ID };
        yield { status, event: 'TransferFinalized' };
      }
      for (const range of ranges) {
        for (const webhookId of [WEBHOOKS.active, WEBHOOKS.gone, 'notice']) yield { webhookId, ...range };
      }
      for (const eventId of new Set(rows.filter(({ isLost }) => !isLost).map((row) => row.eventId))) yield { eventId };
      yield { eventId: 'absent' };
    }

    test('lists and counts deliveries by every filter as before', async () => {
      for (const entityId of [USUAL, ODD, QUIET]) {
        for (const filter of filtersOf(entityId)) {
          for (const sortBy of ['dateCreated', 'dateNextAttempt'] as const) {
            const query = ofDeliveries({ ...filter, sortBy, limit: 1_000 });
            const matches = deliveriesInModel(ofEntity(entityId), query);
            const list = await listDeliveries(store.db, entityId, query);
            const expected = { totalResults: matches.length, deliveries: matches, searched: null };
            expect({ filter, ...list }).toEqual({ filter, ...expected });
          }
          if (filter.status !== undefined) continue;
          const matches = deliveriesInModel(ofEntity(entityId), ofDeliveries(filter));
          const inStatus = (status: string) => matches.filter((delivery) => delivery.status === status).length;
          const counts = Object.fromEntries(DELIVERY_STATUSES.map((status) => [status, inStatus(status)]));
          const counted = await countStatuses(store.db, entityId, filter);
          expect({ filter, ...counted }).toEqual({ filter, total: matches.length, ...counts } as never);
        }
      }
    });

    test('pages through deliveries in both directions as before', async () => {
      for (const entityId of [USUAL, ODD]) {
        for (const sortBy of ['dateCreated', 'dateNextAttempt'] as const) {
          for (const sortDir of ['asc', 'desc'] as const) {
            const all = deliveriesInModel(ofEntity(entityId), ofDeliveries({ sortBy, sortDir }));
            for (let page = 1; (page - 1) * 17 <= all.length; page++) {
              const list = await listDeliveries(store.db, entityId, ofDeliveries({ sortBy, sortDir, page, limit: 17 }));
              const deliveries = all.slice((page - 1) * 17, page * 17);
              expect(list).toEqual({ totalResults: all.length, deliveries, searched: null });
            }
          }
        }
      }
    });

    test('has counters that equal a count of the rows', async () => {
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    });

    test('keeps since when a webhook has been failing, also where no delivery is left of it', async () => {
      const rows = await store.db.all<{ webhook_id: string; failing_since_ms: unknown }>(
        'select webhook_id, failing_since_ms from queue_heads where entity_id = $1 and failing_since_ms is not null',
        [entityKey(store.db.dialect, USUAL)],
      );
      const since = rows.map((row) => [row.webhook_id, Number(row.failing_since_ms)]);
      expect(since.sort()).toEqual([FAILING, WEBHOOKS.moved].map((id) => [id, FAILING_SINCE_MS]));
    });

    test('knows every event again, under ids of Paybell and ids that senders chose', async () => {
      for (const { entityId, eventId, body, deliveries } of events) {
        const [same, other] = await accept(
          store.db,
          newEvent(entityId, { eventId, body }),
          newEvent(entityId, { eventId, body: `${body} ` }),
        );
        expect(same).toEqual({ eventId, deliveries, supersededBy: null, repeated: true });
        expect(other).toBeInstanceOf(DomainError);
      }
    });
  });
}
