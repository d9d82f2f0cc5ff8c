import { expect, test } from 'bun:test';
import type { Database } from '../../../../src/store/database/database.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import type { Claimed } from '../../../../src/store/deliveries/claim/claimed.ts';
import { accept, claim, HOOK, newEvent } from '../../../support/deliveries.ts';
import { attemptThat, countRows, keepOrder, record } from '../../../support/order.ts';
import { TEST_DEADLINE_MS } from '../../../support/postgres.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';
import { newEntity, register } from '../../../support/webhooks.ts';

const RACES = 25;
const KINDS = ['TransferCreated', 'AgreementSignedUp'] as const;

/** As another instance has it; SQLite has one process. */
async function withSecond(store: TestStore, work: (second: Database) => Promise<void>): Promise<void> {
  if (store.engine === 'sqlite') return work(store.db);
  const second = await openDatabase({ engine: 'postgres', url: store.url, deadlineMs: TEST_DEADLINE_MS });
  try {
    await work(second);
  } finally {
    await second.close();
  }
}

onSuiteEngine('an agreement of an endpoint that keeps order', (store) => {
  async function newEndpoint(): Promise<string> {
    const entityId = await newEntity(store.db);
    const pairs = KINDS.map((event) => ({ networkId: 1, event }));
    await register(store.db, entityId, HOOK, pairs);
    await keepOrder(store.db, entityId, HOOK);
    return entityId;
  }

  const send = (db: Database, entityId: string, event: string, agreementId: string) =>
    accept(db, newEvent(entityId, { event, agreementId }));

  const deliver = (db: Database, claimed: readonly Claimed[]) =>
    record(db, ...claimed.map((delivery) => attemptThat('delivered', delivery)));

  test('has one turn, however many connections accept its events at once', async () => {
    const entityId = await newEndpoint();
    await withSecond(store, async (second) => {
      for (let race = 0; race < RACES; race++) {
        const both = [store.db, second].map((db, index) => send(db, entityId, KINDS[index] ?? '', `race-${race}`));
        await Promise.all(both);
      }
    });
    expect(await claim(store.db, entityId, 1_000)).toHaveLength(RACES);
  });

  test('passes its turn on to what is accepted while its first delivery is recorded', async () => {
    const entityId = await newEndpoint();
    await withSecond(store, async (second) => {
      for (let race = 0; race < RACES; race++) {
        await send(store.db, entityId, 'TransferCreated', `race-${race}`);
        const first = await claim(store.db, entityId);
        expect(first).toHaveLength(1);
        await Promise.all([deliver(second, first), send(store.db, entityId, 'AgreementSignedUp', `race-${race}`)]);
        const next = await claim(store.db, entityId);
        expect(next).toHaveLength(1);
        await deliver(store.db, next);
      }
    });
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
  });
});
