import { expect, test } from 'bun:test';
import type { Queries } from '../../../src/store/database/database.ts';
import { recordAttempts } from '../../../src/store/deliveries/record-attempts.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { acceptMany, addReceiver, claim, HOOK, newEvent, respondedWith } from '../../support/deliveries.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const TABLES = [
  ...['queue', 'queue_heads', 'deliveries', 'attempts', 'events', 'event_ids', 'endpoints', 'webhooks'],
  ...['queue_counts', 'delivery_counts', 'event_counts'],
];

onEveryEngine('without a word in the statistics about what the tables hold', (store) => {
  const wholeReads = async (queries: Queries) => {
    const rows = await queries.all<{ relname: string; seq_scan: string }>(
      'select relname, seq_scan from pg_stat_xact_user_tables',
    );
    return new Map(rows.map(({ relname, seq_scan }) => [relname, Number(seq_scan)]));
  };

  /** The tables that the work reads from the first row to the last. */
  const readWhole = (work: (queries: Queries) => Promise<unknown>) =>
    store.db.transaction(async (queries) => {
      const before = await wholeReads(queries);
      await work(queries);
      const after = await wholeReads(queries);
      return TABLES.filter((name) => (after.get(name) ?? 0) > (before.get(name) ?? 0));
    });

  test('no acceptance and no record of attempts reads a whole table', async () => {
    if (store.engine === 'sqlite') return;
    await store.db.transaction(async (queries) => {
      for (const table of TABLES) {
        await queries.run(`alter table ${table} set (autovacuum_enabled = false)`);
        await queries.run(`analyze ${table}`);
      }
    });
    const entityId = await newEntity(store.db);
    for (let index = 0; index < 40; index++) await addReceiver(store.db, entityId, `${HOOK}/${index}`);
    for (let round = 0; round < 8; round++) await acceptMany(store.db, entityId, 25);
    const claimed = await claim(store.db, entityId, 300);
    expect(claimed).toHaveLength(300);
    const accepted = await readWhole((queries) =>
      acceptEvents(queries, store.db.dialect, [newEvent(entityId), newEvent(entityId)]),
    );
    const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
    const retry = { status: 'retrying', steps: 1, delayMs: 1_000, suspend: null } as const;
    const made = claimed.map((delivery, index) =>
      index % 2 === 0
        ? { delivery, startedAtMs: 0, outcome: respondedWith(200), next }
        : { delivery, startedAtMs: 0, outcome: respondedWith(500), next: retry },
    );
    const recorded = await readWhole((queries) => recordAttempts(queries, store.db.dialect, made));
    expect({ accepted, recorded }).toEqual({ accepted: [], recorded: [] });
  });
});
