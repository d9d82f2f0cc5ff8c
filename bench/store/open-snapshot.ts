import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { destinationKey } from '../../src/domain/post-url.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { claimDeliveries } from '../../src/store/deliveries/claim/claim.ts';
import { FIRST_HEAD, findDueHeads } from '../../src/store/deliveries/claim/due-heads.ts';
import { recordAttempts } from '../../src/store/deliveries/record/record-attempts.ts';
import { acceptMany, HOOK, LEASE_MS, newReceiver, respondedWith } from '../../test/support/deliveries.ts';
import { createPostgresDatabase, stopPostgres } from '../../test/support/postgres.ts';
import { quantile } from '../harness/rounds.ts';

/**
 * How long a claim takes on PostgreSQL while another session holds a snapshot, as pg_dump does: nothing that was completed
 * since can be vacuumed, and every look passes over its dead index entries.
 * `npx bun bench/store/open-snapshot.ts --completions 400000`
 */

const { values } = parseArgs({ options: { completions: { type: 'string', default: '400000' } } });

const COMPLETIONS = Number(values.completions);
const BATCH = 500;
const CLAIMS = 100;
const DELIVERED = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;

const url = await createPostgresDatabase();
const db = await openDatabase({ engine: 'postgres', url });
await migrate(db);
const { entityId } = await newReceiver(db);
const picks = [{ destination: destinationKey(entityId, HOOK), most: BATCH }];

async function complete(count: number): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    await acceptMany(db, entityId, BATCH);
    const { claimed } = await claimDeliveries(db, picks, LEASE_MS);
    const outcome = respondedWith(200);
    const made = claimed.map((delivery) => ({ delivery, startedAtMs: Date.now(), outcome, next: DELIVERED }));
    await db.transaction((queries) => recordAttempts(queries, db.dialect, made));
  }
}

/** One event at a time, so that every claim looks from the beginning. */
async function claimTimes(): Promise<{ claimMs: number[]; lookMs: number[] }> {
  const times = { claimMs: [] as number[], lookMs: [] as number[] };
  for (let index = 0; index < CLAIMS; index++) {
    await acceptMany(db, entityId, 1);
    let startedAtMs = performance.now();
    await findDueHeads(db, FIRST_HEAD, 256);
    times.lookMs.push(performance.now() - startedAtMs);
    startedAtMs = performance.now();
    const { claimed } = await claimDeliveries(db, picks, LEASE_MS);
    times.claimMs.push(performance.now() - startedAtMs);
    if (claimed.length === 0) throw new Error('a claim did not find the delivery');
  }
  return times;
}

const rows: string[][] = [];
async function report(name: string): Promise<void> {
  const { claimMs, lookMs } = await claimTimes();
  const cells = [quantile(lookMs, 0.5), quantile(lookMs, 0.99), quantile(claimMs, 0.5), quantile(claimMs, 0.99)];
  rows.push([name, ...cells.map((ms) => (ms ?? Number.NaN).toFixed(1))]);
}

await report('nothing completed');
const snapshot = new SQL(url, { max: 1 });
await snapshot.unsafe('begin isolation level repeatable read');
await snapshot.unsafe('select count(*) from queue');
await complete(COMPLETIONS);
await report(`${COMPLETIONS} completed under an open snapshot`);
await snapshot.unsafe('commit');
await snapshot.close();
printTable(['', 'look p50 ms', 'look p99 ms', 'claim p50 ms', 'claim p99 ms'], rows, '');
printLine('');
await db.close();
await stopPostgres();
process.exit(0);
