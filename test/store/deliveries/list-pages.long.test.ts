import { expect, test } from 'bun:test';
import { type Case, cases } from '../../../bench/store/list-filters.ts';
import { BUSIEST, fillDeliveries, webhookId } from '../../../bench/store/many-deliveries.ts';
import { type DeliveryListQuery, deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import type { SqlInteger, SqlUuid } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { statusInQueue } from '../../../src/store/deliveries/states.ts';
import { rejection } from '../../support/rejection.ts';
import { onEveryEngine, type TestStore } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

type Row = {
  hex: string;
  webhookId: string;
  event: string;
  networkId: number;
  status: string;
  createdAtMs: number;
  nextMs: number | null;
};

/** All deliveries of the entity, read without any of the list's own ways. */
async function readAll({ db }: TestStore, entityId: string): Promise<Row[]> {
  type Raw = Record<'webhook_id' | 'event', string> &
    Record<'network_id' | 'blocked' | 'created_at_ms' | 'attempts', SqlInteger> & {
      id: SqlUuid;
      status: SqlInteger | null;
      due_ms: SqlInteger | null;
    };
  const rows = await db.all<Raw>(
    `select d.id, h.webhook_id, h.event, h.network_id, h.blocked, d.created_at_ms, d.attempts, d.status, d.due_ms
     from (select id, entity_id, webhook_no, created_at_ms, attempts, status, cast(null as bigint) as due_ms from deliveries
           union all select id, entity_id, webhook_no, created_at_ms, attempts, recorded, due_ms from queue) d
     join queue_heads h on h.entity_id = d.entity_id and h.webhook_no = d.webhook_no where d.entity_id = $1`,
    [entityKey(db.dialect, entityId)],
  );
  return rows.map((row) => {
    const code = row.status === null ? null : Number(row.status);
    const status = statusInQueue(code, Number(row.attempts), Number(row.blocked));
    const isScheduled = status === 'pending' || status === 'retrying';
    return {
      hex: db.dialect.hexOf(row.id),
      webhookId: row.webhook_id,
      event: row.event,
      networkId: Number(row.network_id),
      status,
      createdAtMs: Number(row.created_at_ms),
      nextMs: isScheduled ? Number(row.due_ms) : null,
    };
  });
}

function inModel(rows: readonly Row[], query: DeliveryListQuery): string[] {
  const matches = rows.filter(
    (row) =>
      (query.webhookId === undefined || row.webhookId === query.webhookId) &&
      (query.event === undefined || row.event === query.event) &&
      (query.networkId === undefined || row.networkId === query.networkId) &&
      (query.status === undefined || row.status === query.status) &&
      (query.since === undefined || row.createdAtMs >= query.since * 1000) &&
      (query.until === undefined || row.createdAtMs < query.until * 1000),
  );
  const key = ({ nextMs }: Row) => (query.sortBy === 'dateCreated' ? 0 : (nextMs ?? Number.POSITIVE_INFINITY));
  matches.sort((a, b) => (key(a) === key(b) ? (a.hex < b.hex ? -1 : 1) : key(a) < key(b) ? -1 : 1));
  if (query.sortDir === 'desc') matches.reverse();
  return matches.map(({ hex }) => `dlv_${hex}`);
}

onEveryEngine('the pages of a list of deliveries', (store) => {
  test('are the same as those of a plain array, for every filter and order, near and deep', async () => {
    const entityId = await newEntity(store.db);
    const filled = await fillDeliveries(store.db, entityId, 4_000, () => undefined);
    const rows = await readAll(store, entityId);
    expect(rows).toHaveLength(4_000);
    const ofDeliveries = ({ list }: Case) => list === 'deliveries';
    for (const { name, query: given } of cases(filled).filter(ofDeliveries)) {
      const expected = inModel(rows, deliveryListQuerySchema.parse(given));
      const last = Math.max(1, Math.ceil(expected.length / 25));
      for (const page of new Set([1, Math.ceil(last * 0.4), last])) {
        const query = deliveryListQuerySchema.parse({ ...given, page: String(page) });
        const { totalResults, deliveries } = await listDeliveries(store.db, entityId, query);
        const ids = deliveries.map(({ deliveryId }) => deliveryId);
        expect({ name, page, totalResults, ids }).toEqual({
          name,
          page,
          totalResults: expected.length,
          ids: expected.slice((page - 1) * 25, page * 25),
        });
      }
    }
  });

  test('are refused where too many matches would have to be skipped, with what to add', async () => {
    const entityId = await newEntity(store.db);
    const filled = await fillDeliveries(store.db, entityId, 20_000, () => undefined);
    const sorted = { event: 'LatePayment', sortBy: 'dateNextAttempt', sortDir: 'asc' };
    const list = (query: object) => listDeliveries(store.db, entityId, deliveryListQuerySchema.parse(query));
    expect((await list(sorted)).deliveries).toHaveLength(25);
    expect((await rejection(list({ ...sorted, page: '300' }))).message).toContain('since and until');
    const since = String(Math.floor(filled.endMs / 1000) - 86_400);
    expect((await list({ ...sorted, webhookId: webhookId(BUSIEST), since })).deliveries).toHaveLength(25);
  });
});
