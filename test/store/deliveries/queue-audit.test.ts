import { expect, test } from 'bun:test';
import type { Database } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { type AuditCursor, type Audited, auditPage, FIRST_ROW } from '../../../src/store/deliveries/queue-audit.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  claim,
  databaseNowMs,
  forgetDeliveries,
  HOOK,
  letPass,
  newEvent,
  newReceiver,
} from '../../support/deliveries.ts';
import { attemptThat, keepOrder, record } from '../../support/order.ts';
import { POSTGRES_ONLY } from '../../support/requirements.ts';
import { recordStatements } from '../../support/statements.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';

const HOUR_MS = 3_600_000;
const TWO_MINUTES_MS = 120_000;

/** Its waits are longer than those of the deliveries below. */
const LONG = [2 * HOUR_MS];

/** Audits everything, and returns what was found. */
async function audit(
  db: Database,
  schedule = LONG,
): Promise<{ hidden: number; parked: number; late: number; pages: number }> {
  const found = { hidden: 0, parked: 0, late: 0, pages: 0 };
  for (let after: AuditCursor | null = FIRST_ROW; after !== null; found.pages++) {
    const { hidden, parked, late, next }: Audited = await auditPage(db, schedule, after);
    found.hidden += hidden;
    found.parked += parked;
    found.late += late;
    after = next;
  }
  return found;
}

async function change(db: Database, table: string, entityId: string, columns: string): Promise<void> {
  const key = [entityKey(db.dialect, entityId)];
  await db.transaction((queries) => queries.run(`update ${table} set ${columns} where entity_id = $1`, key));
}

onSuiteEngine('the audit of the queue', (store) => {
  async function overdue(count = 1) {
    await forgetDeliveries(store.db);
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, count);
    await letPass(store.db, entityId, TWO_MINUTES_MS);
    const nowMs = await databaseNowMs(store.db);
    return { entityId, webhookId, nowMs };
  }
  const hideAll = (entityId: string, nowMs: number) =>
    change(store.db, 'queue_heads', entityId, `next_due_ms = ${nowMs + HOUR_MS}`);
  /** As after looks that found nothing: the mark is behind the rows, and the next full look is minutes ahead. */
  const passOver = (entityId: string, nowMs: number) =>
    change(
      store.db,
      'queue_heads',
      entityId,
      `next_due_ms = ${nowMs}, look_from_ms = ${nowMs - 11_000}, full_look_ms = ${nowMs + 290_000}`,
    );

  test('finds a due delivery whose head says that nothing is due for an hour', async () => {
    const { entityId, nowMs } = await overdue();
    await hideAll(entityId, nowMs);
    expect(await audit(store.db)).toMatchObject({ hidden: 1, parked: 0 });
    expect(await audit(store.db)).toMatchObject({ hidden: 0, parked: 0 });
    const head = await store.db.get<Record<string, unknown>>(
      'select next_due_ms, look_from_ms, full_look_ms, idle from queue_heads where entity_id = $1',
      [entityKey(store.db.dialect, entityId)],
    );
    expect(Object.values(head ?? {}).map(Number)).toEqual([0, 0, 0, 0]);
  });

  test.skipIf(store.engine === 'sqlite')(`finds it in a shard of Citus too ${POSTGRES_ONLY}`, async () => {
    const { entityId, nowMs } = await overdue();
    await hideAll(entityId, nowMs);
    const db = store.db.dialect.isDistributed ? store.db : recordStatements(store.db, new Set());
    expect(await audit(db)).toMatchObject({ hidden: 1, parked: 0 });
    expect(await audit(db)).toMatchObject({ hidden: 0, parked: 0 });
  });

  test('finds a due delivery below the mark of its head, which claims pass over', async () => {
    const { entityId, nowMs } = await overdue();
    await passOver(entityId, nowMs);
    expect(await claim(store.db, entityId)).toHaveLength(0);
    await passOver(entityId, nowMs);
    expect(await audit(store.db)).toMatchObject({ hidden: 1 });
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('reads every row of a queue that takes several pages', async () => {
    const { entityId, nowMs } = await overdue(7);
    const { dialect } = store.db;
    const db = alteredStore(store.db, { dialect: { ...dialect, limits: { ...dialect.limits, audited: 2 } } });
    expect(await audit(db)).toEqual({ hidden: 0, parked: 0, late: 0, pages: 4 });
    // The last row alone.
    await change(store.db, 'queue', entityId, `due_ms = ${nowMs + HOUR_MS}`);
    await store.db.transaction((queries) =>
      queries.run(
        `update queue set due_ms = ${nowMs - HOUR_MS} where entity_id = $1
           and id = (select id from queue where entity_id = $1 order by id desc limit 1)`,
        [entityKey(store.db.dialect, entityId)],
      ),
    );
    await hideAll(entityId, nowMs);
    expect(await audit(db)).toMatchObject({ hidden: 1 });
  });

  test('leaves deliveries alone that are leased, suspended, or due for less than a minute', async () => {
    const { entityId, webhookId, nowMs } = await overdue(2);
    await claim(store.db, entityId);
    expect(await audit(store.db)).toMatchObject({ hidden: 0 });
    await change(store.db, 'queue', entityId, `lease_ms = 0, due_ms = ${nowMs - 30_000}`);
    await hideAll(entityId, nowMs);
    expect(await audit(store.db)).toMatchObject({ hidden: 0 });
    await change(store.db, 'queue', entityId, `due_ms = ${nowMs - 90_000}`);
    await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE);
    expect(await audit(store.db)).toMatchObject({ hidden: 0 });
  });

  test('finds deliveries of an older generation, which are due whatever their time', async () => {
    const { entityId, nowMs } = await overdue();
    await change(store.db, 'queue', entityId, `due_ms = ${nowMs + HOUR_MS}`);
    await change(store.db, 'queue_heads', entityId, `generation = 1, next_due_ms = ${nowMs + 30_000}`);
    expect(await audit(store.db)).toMatchObject({ hidden: 0 });
    await hideAll(entityId, nowMs);
    expect(await audit(store.db)).toMatchObject({ hidden: 1 });
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('brings a delivery forward that waits for longer than its schedule says', async () => {
    const { entityId, nowMs } = await overdue(2);
    await change(store.db, 'queue', entityId, `due_ms = ${nowMs + HOUR_MS}`);
    expect(await claim(store.db, entityId)).toHaveLength(0);
    expect(await audit(store.db)).toMatchObject({ late: 0 });
    expect(await audit(store.db, [0])).toMatchObject({ hidden: 0, late: 2 });
    expect(await claim(store.db, entityId)).toHaveLength(2);
  });

  test('shortens a lease that is longer than it was taken for, and no other', async () => {
    const { entityId, nowMs } = await overdue();
    await claim(store.db, entityId);
    expect(await audit(store.db)).toMatchObject({ late: 0 });
    await change(store.db, 'queue', entityId, `lease_ms = ${nowMs + HOUR_MS}`);
    expect(await audit(store.db)).toMatchObject({ late: 1 });
    expect(await audit(store.db)).toMatchObject({ late: 0 });
  });

  test('gives a delivery its turn if no delivery of its key has it', async () => {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    await keepOrder(store.db, entityId, HOOK);
    const about = { agreementId: 'a' };
    await accept(store.db, newEvent(entityId, about), newEvent(entityId, about), newEvent(entityId, about));
    expect(await audit(store.db)).toMatchObject({ parked: 0 });
    await change(store.db, 'queue', entityId, 'generation = null');
    expect(await claim(store.db, entityId)).toHaveLength(0);
    expect(await audit(store.db)).toMatchObject({ hidden: 0, parked: 1 });
    expect(await audit(store.db)).toMatchObject({ hidden: 0, parked: 0 });
    const [first, ...others] = await claim(store.db, entityId);
    expect([first?.sequence, others.length]).toEqual([1, 0]);
    if (first !== undefined) await record(store.db, attemptThat('delivered', first));
    expect((await claim(store.db, entityId)).map(({ sequence }) => sequence)).toEqual([2]);
  });
});
