import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseTarget } from '../../src/config.ts';
import type { OutgoingRequest, Sender } from '../../src/delivery/sender.ts';
import type { Outcome } from '../../src/domain/attempt.ts';
import { makeId } from '../../src/domain/ids.ts';
import type { Database, SqlValue } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { PacedBatches } from '../../src/store/database/paced-batches.ts';
import { shrinkFile, storeBytes } from '../../src/store/database/sqlite/vacuum.ts';
import { countStatuses } from '../../src/store/deliveries/read.ts';
import { randomBytes } from '../../src/store/new-id.ts';
import { resumeWebhook } from '../../src/store/webhooks/suspension.ts';
import { createTenant, TEST_CHANGE } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { databaseNowMs, respondedWith, withEngine } from '../../test/support/deliveries.ts';
import { wrongDeliveryCounters } from '../../test/support/delivery-counters.ts';
import {
  insertOldRows,
  migrateToOld,
  type OldDelivery,
  oldDeliveryRow,
  oldWebhookRow,
} from '../../test/support/old-store.ts';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';

/**
 * A store of schema version 5 with deliveries that wait, are held or are retried and as many that are complete: how long
 * its migration takes, how much memory and space, and whether every delivery that waited arrives exactly once after it.
 * `npx bun bench/store/migrate-queue.ts [sqlite|postgres] [deliveries that wait]`.
 */

const WAITING = Number(process.argv[3] ?? 100_000);
const ENTITIES = 10;
const WEBHOOKS_EACH = 40;
/** Every fourth webhook of an entity is suspended. */
const SUSPENDED_EVERY = 4;
const EVENT = { event: 'LatePayment', networkId: 1 } as const;
const BODY = JSON.stringify({ ...EVENT, filler: 'x'.repeat(450) });
const DAY_MS = 86_400_000;
const ROWS_PER_PART = 5_000;

type Engine = 'sqlite' | 'postgres';
type Webhook = { entityId: string; webhookId: string; postUrl: string; isSuspended: boolean };

const LOG = { kind: 'first', duration_ms: 12 } as const;

/** Half of the deliveries of a webhook wait and half are complete, of every kind by turns. */
function deliveryOf(index: number, webhook: Webhook, nowMs: number): { row: OldDelivery; isWaiting: boolean } {
  const createdAtMs = nowMs - 5 * DAY_MS + Math.floor((index / (2 * WAITING)) * 5 * DAY_MS);
  const isWaiting = Math.floor(index / (ENTITIES * WEBHOOKS_EACH)) % 2 === 0;
  const turn = Math.floor(index / (2 * ENTITIES * WEBHOOKS_EACH)) % 3;
  const row: OldDelivery = {
    entityId: webhook.entityId,
    id: makeId('dlv', createdAtMs, randomBytes(10)),
    eventId: turn === 0 ? `order-${index}` : makeId('evt', createdAtMs, randomBytes(10)),
    webhookId: webhook.webhookId,
    ...EVENT,
    postUrl: webhook.postUrl,
    ...{ status: 'delivered', attempts: 1, steps: 1, dueMs: null, nextAttemptMs: null, claimed: 0, token: 1 },
    ...{ redeliver: 0, redeliveryId: null, createdAtMs, deliveredAtMs: createdAtMs + 20 },
    ...{ lastStatusCode: 200, lastError: null },
  };
  if (!isWaiting) {
    if (turn === 2 && index % 10 === 0) Object.assign(row, { status: 'failed', attempts: 3, deliveredAtMs: null });
    return { row, isWaiting };
  }
  Object.assign(row, { deliveredAtMs: null, lastStatusCode: null });
  const dueMs = nowMs + (index % 7) * 1_000;
  const isFirst = turn === 0;
  const tried = isFirst ? { attempts: 0, steps: 0 } : { attempts: 1, steps: 1, lastStatusCode: 503 };
  if (webhook.isSuspended) Object.assign(row, { ...tried, status: 'held' });
  else Object.assign(row, { ...tried, status: isFirst ? 'pending' : 'retrying', dueMs, nextAttemptMs: dueMs });
  return { row, isWaiting };
}

function attemptsOf(row: OldDelivery): Record<string, SqlValue>[] {
  return Array.from({ length: row.attempts }, (_, index) => ({
    ...{ entity_id: row.entityId, delivery_id: row.id, attempt: index + 1, ...LOG },
    ...{ kind: index === 0 ? 'first' : 'retry', post_url: row.postUrl, started_at_ms: row.createdAtMs + index },
    ...{ status_code: row.lastStatusCode, error: null, response: 'ok' },
  }));
}

async function buildOld(db: Database): Promise<{ webhooks: Webhook[]; waiting: Set<string> }> {
  await migrateToOld(db);
  const nowMs = await databaseNowMs(db);
  const webhooks: Webhook[] = [];
  for (let entity = 0; entity < ENTITIES; entity++) {
    const { entityId } = await createTenant(db);
    for (let index = 0; index < WEBHOOKS_EACH; index++) {
      const postUrl = `https://h${index}.example.com/`;
      webhooks.push({ entityId, webhookId: `wh_${index}`, postUrl, isSuspended: index % SUSPENDED_EVERY === 0 });
    }
  }
  await insertOldRows(
    db,
    'webhooks',
    webhooks.map(({ webhookId: id, isSuspended, ...webhook }, index) =>
      oldWebhookRow({
        ...{ ...webhook, ...EVENT, id, seq: (index % WEBHOOKS_EACH) + 1 },
        ...(isSuspended && { suspendedAtS: 1_763_000_000 }),
      }),
    ),
  );
  const waiting = new Set<string>();
  for (let first = 0; first < 2 * WAITING; first += ROWS_PER_PART) {
    const made = Array.from({ length: Math.min(ROWS_PER_PART, 2 * WAITING - first) }, (_, index) => {
      const webhook = webhooks[(first + index) % webhooks.length];
      if (webhook === undefined) throw new Error('there are no webhooks');
      return deliveryOf(first + index, webhook, nowMs);
    });
    for (const { row, isWaiting } of made) if (isWaiting) waiting.add(row.id);
    const rows = made.map(({ row }) => row);
    const events = rows.map((row) => ({
      ...{ entity_id: row.entityId, id: row.eventId, event: row.event, network_id: row.networkId, body: BODY },
      ...{ deliveries: 1, created_at_ms: row.createdAtMs },
    }));
    await insertOldRows(db, 'events', events);
    await insertOldRows(db, 'deliveries', rows.map(oldDeliveryRow));
    await insertOldRows(db, 'attempts', rows.flatMap(attemptsOf));
  }
  await db.checkpoint();
  return { webhooks, waiting };
}

const MAIN = join(import.meta.dir, '../../src/main.ts');

/** As an operator does, in a process of its own; returns how long it took and the most memory that it had. */
async function migrateStore(url: string): Promise<{ seconds: number; peakBytes: number }> {
  const startedAtMs = performance.now();
  const child = Bun.spawn([process.execPath, MAIN, 'migrate'], {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  let peakBytes = 0;
  while (child.exitCode === null) {
    peakBytes = Math.max(peakBytes, readPeakBytes(child.pid));
    await Bun.sleep(20);
  }
  if (child.exitCode !== 0) throw new Error('the migration failed');
  return { seconds: (performance.now() - startedAtMs) / 1_000, peakBytes };
}

function readPeakBytes(pid: number): number {
  try {
    const peak = readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+) kB/)?.[1];
    return Number(peak ?? 0) * 1024;
  } catch {
    // It has ended, or this system does not tell.
    return 0;
  }
}

/** Receives everything and counts how often each delivery came. */
class CountingSender implements Sender {
  readonly arrived = new Map<string, number>();

  async send({ headers }: OutgoingRequest): Promise<Outcome> {
    const deliveryId = headers['webhook-id'] ?? '';
    this.arrived.set(deliveryId, (this.arrived.get(deliveryId) ?? 0) + 1);
    return respondedWith(200);
  }
}

async function deliverAll(db: Database, webhooks: readonly Webhook[], waiting: ReadonlySet<string>): Promise<string> {
  for (const { entityId, webhookId, isSuspended } of webhooks) {
    if (isSuspended) await resumeWebhook(db, entityId, webhookId, TEST_CHANGE);
  }
  const sender = new CountingSender();
  const startedAtMs = performance.now();
  await withEngine(db, sender, async (engine) => {
    engine.wake();
    for (let second = 0; second < 600 && sender.arrived.size < waiting.size; second++) await Bun.sleep(1_000);
    await Bun.sleep(2_000);
  });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const lost = [...waiting].filter((id) => !sender.arrived.has(id)).length;
  const extra = [...sender.arrived.keys()].filter((id) => !waiting.has(id)).length;
  const repeated = [...sender.arrived.values()].filter((times) => times > 1).length;
  return `${sender.arrived.size} arrived in ${seconds.toFixed(0)} s: ${lost} lost, ${repeated} more than once, ${extra} that did not wait`;
}

async function countByStatus(db: Database, webhooks: readonly Webhook[]): Promise<string> {
  const counts = new Map<string, number>();
  for (const entityId of new Set(webhooks.map((webhook) => webhook.entityId))) {
    for (const [status, count] of Object.entries(await countStatuses(db, entityId, {}))) {
      counts.set(status, (counts.get(status) ?? 0) + count);
    }
  }
  return [...counts].map(([status, total]) => `${total} ${status}`).join(', ');
}

const mebibytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

async function bench(engine: Engine): Promise<void> {
  console.log(`\n### ${engine}, ${WAITING} waiting and ${WAITING} complete`);
  const folder = mkdtempSync(join(tmpdir(), 'paybell-migrate-'));
  const file = join(folder, 'paybell.db');
  const url = engine === 'sqlite' ? `sqlite:${file}` : await createPostgresDatabase();
  const target: DatabaseTarget = engine === 'sqlite' ? { engine, file } : { engine, url };
  const old = await openDatabase(target);
  const { webhooks, waiting } = await buildOld(old);
  console.log(`before          ${mebibytes(await storeBytes(old))}`);
  await old.close();
  const { seconds, peakBytes } = await migrateStore(url);
  const nothing = await migrateStore(url);
  console.log(`migrated in     ${seconds.toFixed(1)} s`);
  console.log(`memory          ${mebibytes(peakBytes)}, and ${mebibytes(nothing.peakBytes)} where nothing is to do`);
  const db = await openDatabase(target);
  await db.checkpoint();
  console.log(`after           ${mebibytes(await storeBytes(db))}`);
  await shrinkFile(db, new PacedBatches(db.engine, 0));
  console.log(`space returned  ${mebibytes(await storeBytes(db))}`);
  console.log(`lists           ${await countByStatus(db, webhooks)}`);
  console.log(`wrong counters  ${(await wrongDeliveryCounters(db)).length}`);
  console.log(`delivered       ${await deliverAll(db, webhooks, waiting)}`);
  console.log(`lists           ${await countByStatus(db, webhooks)}`);
  console.log(`wrong counters  ${(await wrongDeliveryCounters(db)).length}`);
  await db.close();
  rmSync(folder, { recursive: true, force: true });
}

for (const engine of ['sqlite', 'postgres'] as const) {
  if (process.argv[2] === undefined || process.argv[2] === engine) await bench(engine);
}
await stopPostgres();
