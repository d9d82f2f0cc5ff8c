import { describe, expect, test } from 'bun:test';
import { routeOf } from '../../../src/store/database/citus/statement-route.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { DISTRIBUTIONS } from '../../../src/store/database/distribution.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { functionsText } from '../../../src/store/database/postgres/citus.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { returnClaims } from '../../../src/store/deliveries/claim/leases.ts';
import { bringForward } from '../../../src/store/deliveries/clock-step.ts';
import { countWaiting } from '../../../src/store/deliveries/counts/queue-depth.ts';
import { markHeads } from '../../../src/store/deliveries/heads.ts';
import { auditPage, FIRST_ROW } from '../../../src/store/deliveries/queue-audit.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { alertFailingEndpoints, alertRecoveredEndpoints } from '../../../src/store/endpoints/alerts.ts';
import { endReaderlessSessions } from '../../../src/store/listen/remove-ended.ts';
import { createSession, endSession, sessionKey } from '../../../src/store/listen/sessions.ts';
import { addStats } from '../../../src/store/stats/read.ts';
import { stepNext } from '../../../src/store/tasks/run.ts';
import { KeyLookup } from '../../../src/store/tenants/key-lookup.ts';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { call, createTenant, TEST_BOX, TEST_CHANGE, testApp } from '../../support/api.ts';
import { accept, addReceiver, claim, HOOK, newEvent, statuses } from '../../support/deliveries.ts';
import { attemptThat, keepOrder, record } from '../../support/order.ts';
import { errorsOf, recordStatements } from '../../support/statements.ts';
import { createTarget } from '../../support/stores.ts';

const HOUR_MS = 3_600_000;
const OTHER = 'https://other.example.com/paybell';

/** Statements that may break a rule, by how they begin, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'select case when exists (select 1 from deliveries where entity_id': 'it only reads, a row at most of each table',
};

const CHANGED = /^\s*(?:update|delete from|insert into|select id from)\s+([a-z_]+)/;

/** One entity's life: accepted, claimed, returned, retried, failed, delivered, sent again, swept and removed. */
async function live(db: Database): Promise<string> {
  const tenant = await createTenant(db);
  const { entityId } = tenant;
  const keys = new KeyLookup(db, Date.now);
  keys.recordUse({ ...tenant, permissions: new Set(), revision: 1 });
  await keys.saveUses();
  const webhookId = await addReceiver(db, entityId, HOOK);
  const otherId = await addReceiver(db, entityId, OTHER);
  await keepOrder(db, entityId, HOOK);
  const session = await createSession(db, TEST_BOX, entityId, { events: null, networkIds: null, filter: null });
  const about = { agreementId: 'a' };
  await accept(db, newEvent(entityId, about), newEvent(entityId, about), newEvent(entityId));
  const claimed = await claim(db, entityId);
  await db.transaction((queries) => returnClaims(queries, db.dialect, claimed));
  const [first, second] = await claim(db, entityId);
  if (first === undefined || second === undefined) throw new Error('too little was claimed');
  await record(db, attemptThat('delivered', first), attemptThat('retried', second, 0));
  for (const delivery of await claim(db, entityId)) await record(db, attemptThat('failed', delivery));
  await redeliver(db, entityId, first.deliveryId);
  await markHeads(db, [{ ...first, isFailing: true }]);
  const entity = entityKey(db.dialect, entityId);
  const inADay = Date.now() + 24 * HOUR_MS;
  await db.transaction((queries) =>
    queries.run(
      `insert into tasks (entity_id, no, kind, subject, entity, phase, cursor, wait_ms)
       values ($1, $1, 'retract', $1, '', 'ending', '', $2)`,
      [entity, inADay],
    ),
  );
  await bringForward(db, [0], 'step');
  await db.transaction((queries) => queries.run('delete from tasks where entity_id = $1', [entity]));
  await auditPage(db, [0], FIRST_ROW);
  await alertFailingEndpoints(db);
  await alertRecoveredEndpoints(db);
  for (const id of [webhookId, otherId]) await deleteWebhook(db, entityId, id, () => true, TEST_CHANGE);
  while ((await stepNext(db, entityKey(db.dialect, entityId))) !== null);
  const key = sessionKey(db.dialect, entityId, session.sessionId);
  if (key !== null) await endSession(db, key);
  await endReaderlessSessions(db, new AbortController().signal);
  while ((await stepNext(db, entityKey(db.dialect, entityId))) !== null);
  const row = { entity: entityKey(db.dialect, entityId), seconds: 60, destination: '', startS: 0, counts: '{}' };
  await db.transaction((queries) => addStats(queries, db.dialect, [row]));
  return entityId;
}

/** A webhook gets a filter, another one, and none, by itself and with others. */
async function changeOptions(db: Database): Promise<void> {
  const app = testApp(db);
  const tenant = await createTenant(db);
  const webhookId = await addReceiver(db, tenant.entityId, HOOK);
  const path = '/api/v1/crypto/webhooks/classic';
  for (const filter of [{ kind: ['x'] }, { kind: ['y'] }, null]) {
    const one = await call(app, tenant, `${path}/${webhookId}/options`, { method: 'PUT', json: { filter } });
    const all = await call(app, tenant, `${path}?networkId=1`, { method: 'PATCH', json: { options: { filter } } });
    expect([one.status, all.status]).toEqual([200, 200]);
  }
}

describe('every statement of the store on Citus', () => {
  test('names its entity where it changes or locks rows, and reads the clock outside of case', async () => {
    const { target } = await createTarget('postgres');
    await using plain = await opened(target);
    await plain.db.transaction(async (queries) => {
      for (const sql of functionsText(plain.db.dialect)) await queries.run(sql);
    });
    const texts = new Set<string>();
    const db = recordStatements(plain.db, texts);
    const entityId = await live(db);
    expect(new Set(await statuses(db, entityId))).toEqual(new Set(['delivered', 'failed', 'cancelled']));
    const app = testApp(db);
    const tenant = await createTenant(db);
    for (const path of [
      'webhooks/classic',
      'events',
      'deliveries',
      'deliveries/counts',
      'endpoints',
      'stats',
      'facts',
      'payments',
      'payments?address=0x1&state=safe',
    ]) {
      const { status } = await call(app, tenant, `/api/v1/crypto/${path}`);
      expect({ path, status }).toEqual({ path, status: 200 });
    }
    await changeOptions(db);
    await countWaiting(db);
    const batches = new PacedBatches('postgres', PAUSE.foreground);
    await prune(db, { olderThanMs: 0, batches, nowMs: Date.now() + HOUR_MS });
    expect(await statuses(db, entityId)).toEqual([]);

    expect(texts.size).toBeGreaterThan(100);
    const isExcepted = (sql: string) => Object.keys(EXCEPTIONS).some((begin) => sql.startsWith(begin));
    const found = [...texts]
      .filter((sql) => !isExcepted(sql))
      .flatMap((sql) => errorsOf(sql).map((error) => `${error}: ${sql}`));
    expect(found).toEqual([]);
    // A worker that hangs refuses these for all entities: reads over all of them, and changes of tables with a copy everywhere.
    const spread = [...texts].filter((sql) => routeOf(sql) === 'every worker');
    const changes = spread.filter((sql) => !/^\s*select/.test(sql) || sql.includes(' for update'));
    const copied = changes.filter((sql) => DISTRIBUTIONS[CHANGED.exec(sql)?.[1] ?? ''] === 'reference');
    expect(changes.filter((sql) => !copied.includes(sql))).toEqual([]);
    for (const begin of Object.keys(EXCEPTIONS)) expect([...texts].some((sql) => sql.startsWith(begin))).toBe(true);
  });

  test.each([
    ['update queue set lease_ms = 0 where id = $1', 'it changes or locks rows of no one entity'],
    ['select id from queue where id = $1 for update', 'it changes or locks rows of no one entity'],
    [
      'delete from audit where id in (select id from webhooks where entity_id = $1)',
      'it changes audit, which is on the coordinator, by rows of webhooks, which is on every worker',
    ],
    ['select q.id from queue q join audit a on a.id = $1', 'queue is distributed, and audit is on the coordinator'],
    [
      'update queue set due_ms = case when $2 = 1 then statement_timestamp() end where entity_id = $1',
      'the clock is read within case or coalesce',
    ],
    [
      'select (select min(due_ms) from queue q where q.entity_id = h.entity_id) from (select entity_id from queue_heads where entity_id = $1) h',
      'a subselect does not name its entity by itself',
    ],
    [
      'select no, (select r.no from events r where r.entity_id = events.entity_id and r.no = outdated_by) from events where entity_id = $1 for update',
      'a subselect does not name its entity by itself',
    ],
  ])('is checked: %s', (sql, error) => {
    expect(errorsOf(sql)).toEqual([error]);
  });
});

async function opened(target: Parameters<typeof openDatabase>[0]) {
  const db = await openDatabase(target);
  await migrate(db);
  return { db, [Symbol.asyncDispose]: () => db.close() };
}
