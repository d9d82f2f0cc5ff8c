import { Database as Connection } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { explaining as explainingWithoutJit } from '../../../bench/store/explaining.ts';
import { auditListQuerySchema } from '../../../src/contract/audit.ts';
import { deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import { eventListQuerySchema } from '../../../src/contract/events/accepted-event.ts';
import { webhookListQuerySchema } from '../../../src/contract/webhooks.ts';
import type { Database, Queries, SqlValue } from '../../../src/store/database/database.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { listEvents } from '../../../src/store/events/read.ts';
import { listAudit } from '../../../src/store/tenants/audit.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { seedDeliveryRows } from '../../support/delivery-rows.ts';
import { onlyOn } from '../../support/only-on.ts';
import { POSTGRES_ONLY, SQLITE_ONLY } from '../../support/requirements.ts';
import { alteredQueries, alteredStore, onEveryEngine, type TestStore } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

/** One row to find by each filter, so that no list ends with its count and leaves its page unread. */
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
const TEXTS = ['evt_1', `dlv_${'0'.repeat(32)}`, 'https://example.com', 'https://example.com/', 'example'].map((q) => ({
  q,
}));
const DELIVERY_FILTERS: Question[] = [...EVENT_FILTERS, { webhookId: 'wh_1' }, ...STATUSES, ...TEXTS];

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
  ['events', sortedBy([...EVENT_FILTERS, { matched: 'false' }, { matched: 'true' }], 'dateCreated')],
  ['deliveries', sortedBy(DELIVERY_FILTERS, 'dateCreated', 'dateNextAttempt')],
  ['deliveries', sortedBy([{ payload: 'LatePayment', since: '1' }], 'dateCreated')],
  [
    'audit',
    sortedBy([{}, { actor: 'test' }, { action: 'webhooks.registered' }, { target: 'wh_1' }, PERIOD], 'dateCreated'),
  ],
];

onEveryEngine('the lists', (store) => {
  const onPostgres = test.skipIf(store.engine !== 'postgres');
  onPostgres.each(QUESTIONS)(
    `of %s are never compiled, whatever they are asked ${POSTGRES_ONLY}`,
    async (list, questions) => {
      const entityId = await newEntity(store.db);
      await seed(store, entityId);
      let lines = 0;
      const db = explainingWithoutJit(store.db, () => lines++);
      for (const question of questions) await LISTS[list]?.(db, entityId, question);
      expect(lines).toBeGreaterThan(questions.length);
    },
  );

  // PostgreSQL plans by what it has counted and rightly scans a table of a few rows.
  const onSqlite = test.skipIf(store.engine !== 'sqlite');

  onSqlite.each(QUESTIONS)(
    `of %s read no table from end to end, whatever they are asked ${SQLITE_ONLY}`,
    async (list, questions) => {
      const entityId = await newEntity(store.db);
      await seed(store, entityId);
      const plans: string[] = [];
      const db = explaining(store, plans);
      for (const question of questions) await LISTS[list]?.(db, entityId, question);
      expect(plans.length).toBeGreaterThan(questions.length);
      const tables = await store.db.all<{ name: string }>(`select name from sqlite_master where type = 'table'`);
      const scans = new RegExp(`SCAN (${tables.map(({ name }) => name).join('|')})\\b`);
      expect(plans.filter((plan) => scans.test(plan))).toEqual([]);
    },
  );

  onSqlite.each([
    ['dateCreated', {}, 'webhooks_by_creation'],
    ['dateCreated', { networkId: '1' }, 'webhooks_by_network_creation'],
    ['dateCreated', { event: 'LatePayment' }, 'webhooks_by_event_creation'],
    ['dateCreated', { networkId: '1', event: 'LatePayment' }, 'webhooks_by_network_creation'],
    ['postUrl', {}, 'webhooks_by_url'],
    ['postUrl', { networkId: '1' }, 'webhooks_by_network_url'],
    ['postUrl', { event: 'LatePayment' }, 'webhooks_by_event_url'],
    ['postUrl', { networkId: '1', event: 'LatePayment' }, 'webhooks_by_network_url'],
  ])(
    `of webhooks in the order of %s with %j are read along %s ${SQLITE_ONLY}`,
    async (sortBy, filter: Question, index) => {
      const entityId = await newEntity(store.db);
      await seed(store, entityId);
      for (const sortDir of ['asc', 'desc']) {
        const plans: string[] = [];
        await LISTS.webhooks?.(explaining(store, plans), entityId, { ...filter, sortBy, sortDir });
        const ofPage = plans.filter((plan) => !plan.includes('webhook_counts') && !plan.includes('entities'));
        expect(ofPage.filter((plan) => plan.includes(`USING INDEX ${index} `))).toHaveLength(1);
        expect(ofPage.join()).not.toContain('TEMP B-TREE');
      }
    },
  );

  onlyOn('sqlite', store)('of deliveries are read along the index of their filter', async () => {
    const entityId = await newEntity(store.db);
    await seed(store, entityId);
    const indexesFor = async (question: Question) => {
      const plans: string[] = [];
      await LISTS.deliveries?.(explaining(store, plans), entityId, question);
      const found = plans.map(
        (plan) => /(?:SEARCH d|SEARCH q) USING (?:COVERING )?(INDEX \w+|PRIMARY KEY)/.exec(plan)?.[1],
      );
      return [...new Set(found.filter((index) => index !== undefined))].sort();
    };
    expect(await indexesFor({ status: 'failed' })).toContain('INDEX deliveries_not_delivered');
    expect(await indexesFor({ status: 'failed', webhookId: 'wh_1' })).toContain(
      'INDEX deliveries_not_delivered_by_webhook',
    );
    expect(await indexesFor({ webhookId: 'wh_1' })).toContain('INDEX deliveries_by_webhook');
    expect(await indexesFor({ eventId: 'evt_1' })).toEqual(['PRIMARY KEY']);
    expect(await indexesFor(PERIOD)).toEqual(['PRIMARY KEY']);
  });
});

async function seed({ db }: TestStore, entityId: string): Promise<void> {
  await register(db, entityId, ROW.postUrl, [ROW]);
  const statuses = ['pending', 'retrying', 'delivered', 'failed', 'held', 'cancelled'] as const;
  await seedDeliveryRows(
    db,
    entityId,
    statuses.map((status) => ({
      ...ROW,
      status,
      webhookId: status === 'held' ? 'wh_held' : ROW.webhookId,
      attempts: status === 'pending' ? 0 : 1,
    })),
  );
}

/** Notes how each statement of the list would be run, and runs it. */
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
    snapshot: (work) => db.snapshot((queries) => work(alteredQueries(queries, noting(queries)))),
  });
}
