import { Database as Connection } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { auditListQuerySchema } from '../../../src/contract/audit.ts';
import { deliveryListQuerySchema, eventListQuerySchema } from '../../../src/contract/deliveries.ts';
import { webhookListQuerySchema } from '../../../src/contract/webhooks.ts';
import type { Database, Queries, SqlValue } from '../../../src/store/database/database.ts';
import { listDeliveries, listEvents } from '../../../src/store/deliveries/read.ts';
import { listAudit } from '../../../src/store/tenants/audit.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { seedDeliveryRows, seedEventRows } from '../../support/delivery-rows.ts';
import { alteredStore, onEveryEngine, type TestStore } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

/** One row that every filter finds, so that no list ends after its count without reading a page. */
const ROW = {
  eventId: 'evt_1',
  webhookId: 'wh_1',
  event: 'LatePayment',
  networkId: 1,
  postUrl: 'https://example.com/',
  attempts: 1,
  createdAtMs: 1_763_168_400_000,
  nextAttemptMs: null,
  deliveredAtMs: null,
  lastStatusCode: 200,
  lastError: null,
} as const;

type Question = Record<string, string>;

const PERIOD = { since: '1', until: '9000000000' };
const EVENT_FILTERS: Question[] = [{}, { eventId: 'evt_1' }, { event: 'LatePayment' }, { networkId: '1' }, PERIOD];
const STATUSES = ['pending', 'retrying', 'delivered', 'failed', 'held', 'cancelled'].map((status) => ({ status }));
const DELIVERY_FILTERS: Question[] = [...EVENT_FILTERS, { webhookId: 'wh_1' }, ...STATUSES];

const LISTS: Record<string, (db: Database, entityId: string, question: Question) => Promise<unknown>> = {
  webhooks: (db, entityId, question) => listWebhooks(db, entityId, webhookListQuerySchema.parse(question)),
  events: (db, entityId, question) => listEvents(db, entityId, eventListQuerySchema.parse(question)),
  deliveries: (db, entityId, question) => listDeliveries(db, entityId, deliveryListQuerySchema.parse(question)),
  audit: (db, entityId, question) => listAudit(db, entityId, auditListQuerySchema.parse(question)),
};

const sortedBy = (questions: readonly Question[], ...fields: string[]): Question[] =>
  fields.flatMap((sortBy) =>
    ['asc', 'desc'].flatMap((sortDir) => questions.map((question) => ({ ...question, sortBy, sortDir }))),
  );

const QUESTIONS: [list: string, questions: Question[]][] = [
  [
    'webhooks',
    sortedBy(
      [
        {},
        { webhookId: 'wh_1' },
        { networkId: '1' },
        { event: 'LatePayment' },
        { networkId: '1', event: 'LatePayment' },
      ],
      'dateCreated',
      'postUrl',
    ),
  ],
  ['events', sortedBy(EVENT_FILTERS, 'dateCreated')],
  ['deliveries', sortedBy(DELIVERY_FILTERS, 'dateCreated', 'dateNextAttempt')],
  [
    'audit',
    sortedBy([{}, { actor: 'test' }, { action: 'webhooks.registered' }, { target: 'wh_1' }, PERIOD], 'dateCreated'),
  ],
];

onEveryEngine('the lists', (store) => {
  // PostgreSQL plans by its statistics and rightly scans a table with few rows.
  if (store.engine !== 'sqlite') return;

  test.each(QUESTIONS)('of %s never scan a table, whatever the query', async (list, questions) => {
    const entityId = await newEntity(store.db);
    await seed(store, entityId);
    const plans: string[] = [];
    const db = explaining(store, plans);
    for (const question of questions) await LISTS[list]?.(db, entityId, question);
    expect(plans.length).toBeGreaterThan(questions.length);
    const tables = await store.db.all<{ name: string }>(`select name from sqlite_master where type = 'table'`);
    const scans = new RegExp(`SCAN (${tables.map(({ name }) => name).join('|')})\\b`);
    expect(plans.filter((plan) => scans.test(plan))).toEqual([]);
  });

  test('of failed or waiting deliveries use the index of states, and those of an event its own', async () => {
    const entityId = await newEntity(store.db);
    await seed(store, entityId);
    const indexesFor = async (question: Question) => {
      const plans: string[] = [];
      await LISTS.deliveries?.(explaining(store, plans), entityId, question);
      const found = plans.map((plan) => /INDEX (deliveries_\w+)/.exec(plan)?.[1]);
      return [...new Set(found.filter((index) => index !== undefined))];
    };
    for (const status of ['pending', 'retrying', 'failed', 'held', 'cancelled']) {
      expect([status, await indexesFor({ status })]).toEqual([status, ['deliveries_by_status']]);
    }
    expect(await indexesFor({ eventId: 'evt_1' })).toEqual(['deliveries_by_event']);
    expect(await indexesFor({ eventId: 'evt_1', sortBy: 'dateNextAttempt' })).toEqual(['deliveries_by_event']);
    expect(await indexesFor(PERIOD)).toEqual(['deliveries_by_date']);
  });
});

async function seed({ db }: TestStore, entityId: string): Promise<void> {
  await register(db, entityId, ROW.postUrl, [ROW]);
  await seedEventRows(db, entityId, [{ ...ROW, id: 'evt_1', body: '{}' }]);
  const statuses = ['pending', 'retrying', 'delivered', 'failed', 'held', 'cancelled'] as const;
  await seedDeliveryRows(
    db,
    entityId,
    statuses.map((status) => ({ ...ROW, id: `dlv_${status}`, status })),
  );
}

/** Notes the plan of each statement of the list, and runs it. */
function explaining({ db, url }: TestStore, plans: string[]): Database {
  const explain = (sql: string, params: readonly SqlValue[] = []) => {
    // On a connection of its own: Bun leaves an explained statement open, and its snapshot would never end.
    using connection = new Connection(url.replace('sqlite:', ''), { readonly: true });
    const rows = connection.prepare(`explain query plan ${sql.replace(/\$(\d+)/g, '?$1')}`).all(...params);
    plans.push(...(rows as { detail: string }[]).map(({ detail }) => detail));
  };
  const noting = (queries: Pick<Queries, 'all' | 'get'>) => ({
    all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
      explain(sql, params);
      return queries.all<Row>(sql, params);
    },
    get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
      explain(sql, params);
      return queries.get<Row>(sql, params);
    },
  });
  return alteredStore(db, {
    ...noting(db),
    snapshot: (work) => db.snapshot((queries) => work({ ...queries, ...noting(queries) })),
  });
}
