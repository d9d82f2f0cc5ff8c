import { beforeEach, expect, test } from 'bun:test';
import { MAX_WEBHOOKS_PER_CELL, MAX_WEBHOOKS_PER_REQUEST } from '../../../src/contract/webhooks/limits.ts';
import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import { MAX_QUEUE_NO } from '../../../src/domain/ids.ts';
import { MAX_NETWORK_ID } from '../../../src/domain/networks.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { accept, newEvent } from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { listQuery, NOW_S, newEntity, register, seedWebhooks, wrongCounters } from '../../support/webhooks.ts';

const URL_A = 'https://example.com/a';
const LATE_ON_1 = { networkId: 1, event: 'LatePayment' };
const LATE_ON_10 = { networkId: 10, event: 'LatePayment' };

onSuiteEngine('a registration', (store) => {
  let entityId: string;
  const list = (given = {}) => listWebhooks(store.db, entityId, listQuery(given));

  beforeEach(async () => {
    entityId = await newEntity(store.db);
  });

  test('creates one webhook for each pair, in the order of the pairs', async () => {
    const { created, webhooks } = await register(store.db, entityId, URL_A, [LATE_ON_10, LATE_ON_1]);
    expect(created).toBe(2);
    expect(webhooks).toMatchObject([
      { ...LATE_ON_10, webhookId: expect.any(String), postUrl: URL_A, dateCreated: NOW_S },
      { ...LATE_ON_1, webhookId: expect.any(String), postUrl: URL_A, dateCreated: NOW_S },
    ]);
    expect((await list({ sortDir: 'asc' })).webhooks).toEqual(webhooks);
  });

  test('of an existing webhook returns it as it is and creates no second one', async () => {
    const first = await register(store.db, entityId, URL_A, [LATE_ON_1]);
    const again = await register(store.db, entityId, URL_A, [LATE_ON_10, LATE_ON_1], { nowS: NOW_S + 60 });
    expect(again.created).toBe(1);
    expect(again.webhooks.slice(1)).toEqual(first.webhooks);
    expect((await list()).totalResults).toBe(2);
  });

  test('of a URL in another spelling is another webhook, because URLs compare by bytes', async () => {
    await register(store.db, entityId, 'https://example.com/a', [LATE_ON_1]);
    const other = await register(store.db, entityId, 'https://example.com/A', [LATE_ON_1]);
    expect(other.created).toBe(1);
    expect((await list()).totalResults).toBe(2);
  });

  test('of the most webhooks for one request keeps all of them', async () => {
    const pairs = Array.from({ length: MAX_WEBHOOKS_PER_REQUEST }, (_, networkId) => ({ ...LATE_ON_1, networkId }));
    const { created, webhooks } = await register(store.db, entityId, URL_A, pairs);
    expect(created).toBe(MAX_WEBHOOKS_PER_REQUEST);
    expect(webhooks.map(({ networkId }) => networkId)).toEqual(pairs.map(({ networkId }) => networkId));
    expect((await list()).totalResults).toBe(MAX_WEBHOOKS_PER_REQUEST);
  });

  test('takes the last number of its entity, and none after it', async () => {
    await store.db.transaction((queries) =>
      queries.run('update entities set revision = $2 where id = $1', [entityId, MAX_QUEUE_NO - 1]),
    );
    await register(store.db, entityId, URL_A, [LATE_ON_1]);
    const failed = await rejection(register(store.db, entityId, URL_A, [LATE_ON_10]));
    expect(failed).toMatchObject({ kind: 'entity_exhausted', facts: { entityId } });
    expect((await list()).totalResults).toBe(1);
    expect(await accept(store.db, newEvent(entityId))).toMatchObject([{ deliveries: 1 }]);
  });

  test('keeps the smallest and the largest network id exactly', async () => {
    const pairs = [0, MAX_NETWORK_ID].map((networkId) => ({ ...LATE_ON_1, networkId }));
    await register(store.db, entityId, URL_A, pairs);
    for (const { networkId } of pairs) {
      expect((await list({ networkId })).webhooks).toMatchObject([{ networkId }]);
    }
  });

  test('for an event outside the seven is shown by lists that do not filter by event, and by no others', async () => {
    await register(store.db, entityId, URL_A, [{ networkId: 1, event: 'RefundIssued' }]);
    expect((await list()).webhooks).toMatchObject([{ event: 'RefundIssued' }]);
    expect((await list({ networkId: 1 })).totalResults).toBe(1);
    for (const event of EVENT_KINDS) expect((await list({ event })).totalResults).toBe(0);
  });

  test('after the clock was set back is dated no earlier than the one before it', async () => {
    await register(store.db, entityId, 'https://example.com/1', [LATE_ON_1], { nowS: NOW_S });
    await register(store.db, entityId, 'https://example.com/2', [LATE_ON_1], { nowS: NOW_S - 3600 });
    await register(store.db, entityId, 'https://example.com/3', [LATE_ON_1], { nowS: NOW_S + 1 });
    const { webhooks } = await list({ sortDir: 'asc' });
    expect(webhooks.map(({ postUrl, dateCreated }) => [postUrl.at(-1), dateCreated - NOW_S])).toEqual([
      ['1', 0],
      ['2', 0],
      ['3', 1],
    ]);
  });

  test('over the limit of one network and event is rejected and registers nothing', async () => {
    const seeds = Array.from({ length: MAX_WEBHOOKS_PER_CELL - 1 }, (_, index) => ({
      ...LATE_ON_1,
      postUrl: `https://example.com/${index}`,
    }));
    await seedWebhooks(store.db, entityId, seeds);
    expect((await register(store.db, entityId, URL_A, [LATE_ON_1])).created).toBe(1);
    const refused = register(store.db, entityId, 'https://example.com/over', [LATE_ON_10, LATE_ON_1]);
    expect(await rejection(refused)).toMatchObject({
      kind: 'cell_full',
      facts: { ...LATE_ON_1, limit: MAX_WEBHOOKS_PER_CELL },
    });
    expect((await list()).totalResults).toBe(MAX_WEBHOOKS_PER_CELL);
    expect((await list({ networkId: 10 })).totalResults).toBe(0);
  });

  test('at the limit of one network and event still returns existing webhooks', async () => {
    const seeds = Array.from({ length: MAX_WEBHOOKS_PER_CELL }, (_, index) => ({
      ...LATE_ON_1,
      postUrl: `https://example.com/${index}`,
    }));
    await seedWebhooks(store.db, entityId, seeds);
    const again = await register(store.db, entityId, 'https://example.com/7', [LATE_ON_1]);
    expect(again).toMatchObject({ created: 0, webhooks: [{ postUrl: 'https://example.com/7' }] });
  });

  test('over the limit of the entity is rejected with the limit and registers nothing', async () => {
    const limit = { entityWebhookLimit: 2 };
    await register(store.db, entityId, URL_A, [LATE_ON_1], limit);
    const refused = register(store.db, entityId, 'https://example.com/b', [LATE_ON_1, LATE_ON_10], limit);
    expect(await rejection(refused)).toMatchObject({
      kind: 'entity_full',
      facts: { webhooks: 3, limit: 2 },
    });
    expect((await list()).totalResults).toBe(1);
    expect((await register(store.db, entityId, 'https://example.com/b', [LATE_ON_1], limit)).created).toBe(1);
  });

  test('of one entity leaves the lists and limits of another alone', async () => {
    const other = await newEntity(store.db);
    const limit = { entityWebhookLimit: 1 };
    await register(store.db, entityId, URL_A, [LATE_ON_1], limit);
    expect((await register(store.db, other, URL_A, [LATE_ON_1], limit)).created).toBe(1);
    const mine = (await list()).webhooks[0]?.webhookId ?? '';
    expect(await listWebhooks(store.db, other, listQuery({ webhookId: mine }))).toEqual({
      totalResults: 0,
      webhooks: [],
    });
  });

  test('for an entity that does not exist is rejected and leaves nothing behind', async () => {
    expect(await rejection(register(store.db, 'ent_none', URL_A, [LATE_ON_1]))).toMatchObject({
      kind: 'entity_not_found',
    });
    expect((await listWebhooks(store.db, 'ent_none', listQuery())).totalResults).toBe(0);
  });

  test('leaves every counter equal to its rows, whether it succeeded or was rejected', async () => {
    expect(await wrongCounters(store.db)).toEqual([]);
  });
});
