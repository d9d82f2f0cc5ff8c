import { expect, test } from 'bun:test';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, claim, HOOK, newEvent } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { configure } from '../../support/endpoints.ts';
import { beforeStatement } from '../../support/interrupted-store.ts';
import { attemptThat, record } from '../../support/order.ts';
import { POSTGRES_ONLY } from '../../support/requirements.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const MOVED = 'https://hooks.example.com/moved';

/** The head of a webhook's retractions is made with the first of them. A change of the webhook must not miss it. */
onSuiteEngine('the first retraction of a webhook', (store) => {
  type Hook = { readonly entityId: string; readonly webhookId: string };
  const changes: Readonly<Record<string, (hook: Hook) => Promise<unknown>>> = {
    moved: ({ entityId, webhookId }) => moveWebhook(store.db, entityId, webhookId, MOVED, () => true, TEST_CHANGE),
    deleted: ({ entityId, webhookId }) => deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE),
    suspended: ({ entityId, webhookId }) => suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE),
    paused: ({ entityId }) => configure(store.db, entityId, HOOK, { paused: true }),
  };

  // SQLite has one writer: no change comes between the statements of a step.
  test.skipIf(store.engine !== 'postgres').each([
    ['moved', 'pending', [MOVED]],
    ['deleted', 'cancelled', []],
    ['suspended', 'held', []],
    ['paused', 'held', []],
  ] as const)(
    `follows the webhook, which is %s before the head is made ${POSTGRES_ONLY}`,
    async (change, status, sent) => {
      const entityId = await newEntity(store.db);
      const { webhooks } = await register(store.db, entityId, HOOK, [{ networkId: 1, event: 'TransferProcessed' }]);
      const hook = { entityId, webhookId: webhooks[0]?.webhookId ?? '' };
      await accept(store.db, newEvent(entityId, { event: 'TransferProcessed', eventId: 'p1' }));
      for (const claimed of await claim(store.db, entityId)) await record(store.db, attemptThat('delivered', claimed));
      await accept(store.db, newEvent(entityId, { event: RETRACTION, eventId: 'p1-retracted', retracts: 'p1' }));
      let changing: Promise<unknown> = Promise.resolve();
      const isFirstHead = (sql: string) => sql.startsWith('insert into queue_heads');
      const raced = beforeStatement(store.db, isFirstHead, async () => {
        changing = changes[change]?.(hook) ?? Promise.resolve();
        await Promise.race([changing, waitsForLock()]);
      });
      await runTasks(raced);
      await changing;
      await runTasks(store.db);
      const query = { page: 1, limit: 10, sortBy: 'dateCreated', sortDir: 'asc', event: RETRACTION } as const;
      const { deliveries } = await listDeliveries(store.db, entityId, query);
      expect(deliveries.map((delivery) => delivery.status)).toEqual([status]);
      expect((await claim(store.db, entityId)).map(({ postUrl }) => postUrl)).toEqual([...sent]);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    },
  );

  async function waitsForLock(): Promise<void> {
    // On Citus the wait is on a worker, and the coordinator only waits for its response.
    const waits = store.db.dialect.isDistributed
      ? 'citus_lock_waits'
      : `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await store.db.get(`select 1 as found from ${waits} limit 1`)) === undefined) await Bun.sleep(5);
  }
});
