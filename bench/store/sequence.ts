import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import type { Database, SqlInteger } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { recordAttempts } from '../../src/store/deliveries/record/record-attempts.ts';
import type { NewEvent } from '../../src/store/events/acceptance.ts';
import { accept, claim, HOOK, newEvent, respondedWith } from '../../test/support/deliveries.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget } from '../../test/support/stores.ts';
import { newEntity, register } from '../../test/support/webhooks.ts';
import { KIND, nextSubjects } from '../harness/event-bodies.ts';

/**
 * How fast events are accepted for one URL, with one, two and four writers on connections of their own, and whether their
 * numbers are 1, 2, 3 … without a hole. Then how fast what was accepted is claimed and recorded.
 * `npx bun bench/store/sequence.ts --events 20000 --kind TransferProcessed`
 */

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '20000' },
    kind: { type: 'string', default: KIND },
    'without-numbers': { type: 'boolean', default: false },
  },
});
const EVENTS = Number(values.events);
const GROUP = 50;
const DELIVERED = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;

async function measure(engine: 'sqlite' | 'postgres', writers: number): Promise<string[]> {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const entityId = await newEntity(db);
  await register(db, entityId, HOOK, [{ networkId: 1, event: values.kind }]);
  const others = await Promise.all(Array.from({ length: writers - 1 }, () => openDatabase(target)));
  await accept(db, eventOf(entityId));
  const startedAtMs = performance.now();
  await Promise.all([db, ...others].map((one) => write(one, entityId, Math.floor((EVENTS - 1) / writers))));
  const acceptMs = performance.now() - startedAtMs;
  const total = 1 + writers * Math.floor((EVENTS - 1) / writers);
  if (!values['without-numbers']) await requireNumbers(db, total);
  const completeMs = await complete(db, entityId);
  await Promise.all([db, ...others].map((one) => one.close()));
  remove();
  const perSecond = (ms: number) => Math.round((total / ms) * 1000).toLocaleString('en-US');
  return [engine, String(writers), total.toLocaleString('en-US'), perSecond(acceptMs), perSecond(completeMs)];
}

async function write(db: Database, entityId: string, events: number): Promise<void> {
  for (let sent = 0; sent < events; sent += GROUP) {
    const size = Math.min(GROUP, events - sent);
    await accept(db, ...Array.from({ length: size }, () => eventOf(entityId)));
  }
}

function eventOf(entityId: string): NewEvent {
  return newEvent(entityId, { event: values.kind, ...nextSubjects() });
}

async function requireNumbers(db: Database, total: number): Promise<void> {
  const row = await db.get<{ rows: SqlInteger; numbers: SqlInteger; first: SqlInteger; last: SqlInteger }>(
    `select count(*) as rows, count(distinct sequence) as numbers, min(sequence) as first, max(sequence) as last from queue`,
  );
  const found = [row?.rows, row?.numbers, row?.first, row?.last].map(Number);
  if (found.join() !== [total, total, 1, total].join()) throw new Error(`expected 1 to ${total}, found ${found}`);
}

async function complete(db: Database, entityId: string): Promise<number> {
  const startedAtMs = performance.now();
  for (;;) {
    const claimed = await claim(db, entityId, 200);
    if (claimed.length === 0) return performance.now() - startedAtMs;
    const made = claimed.map((delivery) => ({
      delivery,
      startedAtMs: 1,
      outcome: respondedWith(200),
      next: DELIVERED,
    }));
    await db.transaction((queries) => recordAttempts(queries, db.dialect, made));
  }
}

const rows: string[][] = [];
for (const [engine, writers] of [
  ['sqlite', 1],
  ['postgres', 1],
  ['postgres', 2],
  ['postgres', 4],
] as const) {
  rows.push(await measure(engine, writers));
}
printTable(['engine', 'writers', 'events', 'accepted/s', 'completed/s'], rows, '');
printLine(
  values['without-numbers'] ? 'numbers not checked' : 'every run: numbers from 1 on, none absent and none twice',
);
await stopPostgres();
