import { expect, test } from 'bun:test';
import type { Webhook, WebhookList } from '../../../src/contract/webhooks.ts';
import type { Database, Queries } from '../../../src/store/database/database.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { withAndWithoutSettings } from '../../support/every-setting.ts';
import { alteredQueries, alteredStore } from '../../support/stores.ts';
import { listQuery, newEntity, register, wrongCounters } from '../../support/webhooks.ts';

const WRITERS = 20;
const WRITES_EACH = 5;
const LATE_ON_1 = { networkId: 1, event: 'LatePayment' } as const;

/** Both ways of reading a page: walked along the sort index, and fetched by the filter and sorted. */
const QUERIES = [listQuery({ limit: 100 }), listQuery({ limit: 100, networkId: 1 })];

withAndWithoutSettings('concurrent requests for one entity', (store, useSettings) => {
  test('twenty writers and a reader finish without a deadlock and without a list that mixes two states', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, 'https://example.com/first', [LATE_ON_1]);
    await useSettings(entityId);
    const lists: WebhookList[] = [];
    let writing = true;
    const read = async () => {
      while (writing) for (const query of QUERIES) lists.push(await listWebhooks(store.db, entityId, query));
    };
    const reading = read();
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeInTurn(store.db, entityId, writer)));
    writing = false;
    await reading;
    for (const list of lists) expectOneState(list, webhooks[0]);
    expect((await listWebhooks(store.db, entityId, listQuery())).totalResults).toBe(WRITERS * WRITES_EACH);
    expect(await wrongCounters(store.db)).toEqual([]);
  });

  test('a write that commits between the total and the page is in neither', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, 'https://example.com/first', [LATE_ON_1]);
    await useSettings(entityId);
    for (const [index, query] of QUERIES.entries()) {
      const before = await listWebhooks(store.db, entityId, query);
      const write = () => register(store.db, entityId, `https://example.com/between/${index}`, [LATE_ON_1]);
      const list = await listWebhooks(writingAfterFirstRead(store.db, write), entityId, query);
      expect(list).toEqual(before);
      expectOneState(list, webhooks[0]);
      expect((await listWebhooks(store.db, entityId, query)).totalResults).toBe(before.totalResults + 1);
    }
  });

  test('the same registration sent twenty times at once makes one webhook', async () => {
    const entityId = await newEntity(store.db);
    const send = () => register(store.db, entityId, 'https://example.com/once', [LATE_ON_1]);
    const results = await Promise.all(Array.from({ length: WRITERS }, send));
    expect(results.filter(({ created }) => created === 1)).toHaveLength(1);
    expect(new Set(results.map(({ webhooks }) => webhooks[0]?.webhookId)).size).toBe(1);
  });

  test('concurrent writers never exceed the limit of an entity', async () => {
    const entityId = await newEntity(store.db);
    const limit = { entityWebhookLimit: 7 };
    const results = await Promise.allSettled(
      Array.from({ length: WRITERS }, (_, index) =>
        register(store.db, entityId, `https://example.com/${index}`, [LATE_ON_1], limit),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    expect((await listWebhooks(store.db, entityId, listQuery())).totalResults).toBe(7);
  });
});

async function writeInTurn(db: Database, entityId: string, writer: number): Promise<void> {
  for (let write = 0; write < WRITES_EACH; write++) {
    // The first webhook exists before: the last writer creates one fewer, so that one page holds them all.
    if (writer === WRITERS - 1 && write === WRITES_EACH - 1) return;
    await register(db, entityId, `https://example.com/${writer}/${write}`, [LATE_ON_1]);
  }
}

/** Newest first and all on one page: rows that are newer than the total would push the oldest webhook off its end. */
function expectOneState({ totalResults, webhooks }: WebhookList, oldest: Webhook | undefined): void {
  expect(webhooks).toHaveLength(totalResults);
  expect(webhooks.at(-1)).toEqual(oldest as Webhook);
}

/** The same store, but a write is committed after the first statement of each snapshot has returned. */
function writingAfterFirstRead(db: Database, write: () => Promise<unknown>): Database {
  const interrupted = (queries: Queries): Queries => {
    let first = true;
    return alteredQueries(queries, {
      async get<Row>(sql: string, params?: Parameters<Queries['get']>[1]) {
        const row = await queries.get<Row>(sql, params);
        if (first) await write();
        first = false;
        return row;
      },
    });
  };
  return alteredStore(db, { snapshot: (work) => db.snapshot((queries) => work(interrupted(queries))) });
}
