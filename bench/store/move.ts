import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import type { Copied } from '../../src/store/copy/copy.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { createTenant } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { type Instance, Instances } from '../../test/support/instances.ts';
import { runPaybell } from '../../test/support/paybell.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';
import { fillDeliveries } from './many-deliveries.ts';

/**
 * Moves a service under load from SQLite to PostgreSQL: senders never stop, its receiver responds to nothing until the move is
 * over, and the service is stopped, copied with all that waits, and started on the copy.
 * `npx bun bench/store/move.ts --deliveries 1000000 --waiting 50000`.
 */

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '1000000' },
    waiting: { type: 'string', default: '50000' },
  },
});
const DELIVERIES = Number(values.deliveries);
const WAITING = Number(values.waiting);

const WEBHOOKS = 10;
const SENDERS = 8;
/** Between two requests of a sender, once as much waits as is wanted. */
const PAUSE_MS = 1_000;
const SEND_AGAIN_MS = 200;
const MOST_DRAIN_MS = 600_000;
const SETTINGS = {
  SECRET_KEY: TEST_SECRET_KEY,
  DELIVERY_TIMEOUT: '2s',
  RETRY_SCHEDULE: '0s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s',
  LOG_LEVEL: 'error',
};

/** Records which webhook has got which event; while it is closed, requests hang until their timeout. */
class Receiver {
  readonly arrived = new Set<string>();
  twice = 0;
  isOpen = false;
  readonly server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    fetch: async (request) => {
      while (!this.isOpen) await Bun.sleep(100);
      const target = `${request.headers.get('paybell-event-id')} ${new URL(request.url).pathname}`;
      if (this.arrived.has(target)) this.twice++;
      this.arrived.add(target);
      return new Response('ok');
    },
  });
}

/** Each sends an event until it is acknowledged, then the next one. */
class Senders {
  readonly acknowledged = new Set<string>();
  refused = 0;
  client: Instance['client'] | null = null;
  #next = 0;
  #isStopping = false;
  readonly #running = Array.from({ length: SENDERS }, () => this.#run());

  stop(): Promise<unknown> {
    this.#isStopping = true;
    return Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const eventId = `move-${this.#next++}`;
      const body = JSON.stringify({ eventId, networkId: 1, ...nextEvent(), amount: '25.00' });
      while (!(await this.#isAccepted(body))) {
        this.refused++;
        await Bun.sleep(SEND_AGAIN_MS);
      }
      this.acknowledged.add(eventId);
      if (this.acknowledged.size * WEBHOOKS >= WAITING) await Bun.sleep(PAUSE_MS);
    }
  }

  async #isAccepted(body: string): Promise<boolean> {
    const response = await this.client?.request('POST', '/events', body).catch(() => undefined);
    await response?.arrayBuffer().catch(() => undefined);
    return response?.ok === true;
  }
}

const count = async (db: Database, table: string) =>
  Number((await db.longReads.get<{ rows: number | string }>(`select count(*) as rows from ${table}`))?.rows);

async function countsOf(url: string): Promise<string> {
  const target = url.startsWith('sqlite:')
    ? ({ engine: 'sqlite', file: url.slice('sqlite:'.length) } as const)
    : ({ engine: 'postgres', url } as const);
  const db = await openDatabase(target);
  const counts = `complete ${await count(db, 'deliveries')}, waiting ${await count(db, 'queue')}`;
  await db.close();
  return counts;
}

async function until(what: string, mostMs: number, check: () => boolean): Promise<void> {
  const endsAtMs = performance.now() + mostMs;
  while (!check()) {
    if (performance.now() > endsAtMs) throw new Error(`Timed out waiting until ${what}`);
    await Bun.sleep(50);
  }
}

const seconds = (sinceMs: number) => `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;

const instances = await Instances.on('sqlite', SETTINGS);
try {
  const first = await instances.start();
  await first.served.stop();
  const file = instances.databaseUrl.slice('sqlite:'.length);
  const db = await openDatabase({ engine: 'sqlite', file });
  // Of another entity: the heads of their queues would otherwise be taken for those of the webhooks that are registered below.
  const history = await createTenant(db);
  await fillDeliveries(db, history.entityId, DELIVERIES, () => undefined, 0);
  await db.checkpoint();
  await db.close();

  const receiver = new Receiver();
  const senders = new Senders();
  const before = await instances.start();
  for (let index = 0; index < WEBHOOKS; index++) await before.client.register(`${receiver.server.url}${index}`, [KIND]);
  senders.client = before.client;
  await until('so many wait', 600_000, () => senders.acknowledged.size * WEBHOOKS >= WAITING);
  const url = await createPostgresDatabase();
  const copy = () =>
    runPaybell(['copy', '--from', instances.databaseUrl, '--to', url, '--json'], instances.folder, SETTINGS);
  const early = await copy();
  printLine(`while the service runs, copy exits with ${early.exitCode}: ${early.stderr.trim().split('\n')[0]}`);

  const stoppedAtMs = performance.now();
  await before.served.stop();
  printLine(`stopped under load in ${seconds(stoppedAtMs)}: ${await countsOf(instances.databaseUrl)}`);
  printLine(`the SQLite file has ${Math.round(statSync(file).size / 2 ** 20)} MiB`);
  const { exitCode, stdout, stderr } = await copy();
  if (exitCode !== 0) throw new Error(stderr);
  const { rows, tables, durationMs } = JSON.parse(stdout) as Copied & { durationMs: number };
  printLine(`copied and compared ${rows} rows of ${tables.length} tables in ${(durationMs / 1_000).toFixed(1)} s`);
  for (const { table, rows: copied, checksum } of tables.filter((each) => each.rows > 10_000)) {
    printLine(`  ${table}: ${copied} rows, checksum ${checksum} on both`);
  }
  printLine(`in PostgreSQL: ${await countsOf(url)}`);

  receiver.isOpen = true;
  const acknowledgedBefore = senders.acknowledged.size;
  instances.moveTo(url);
  const after = await instances.start();
  senders.client = after.client;
  await until('events are accepted again', 60_000, () => senders.acknowledged.size > acknowledgedBefore);
  printLine(
    `events are accepted again ${seconds(stoppedAtMs)} after the stop; ${senders.refused} requests were refused`,
  );
  const startedAtMs = performance.now();
  const missing = () => senders.acknowledged.size * WEBHOOKS - receiver.arrived.size;
  await until('most has arrived', MOST_DRAIN_MS, () => missing() < WAITING / 100).catch(() => undefined);
  await senders.stop();
  await until('all has arrived', MOST_DRAIN_MS, () => missing() <= 0).catch(() => undefined);
  printLine(
    `acknowledged ${senders.acknowledged.size} events for ${WEBHOOKS} webhooks, arrived ${receiver.arrived.size} deliveries, ` +
      `not arrived ${missing()}, twice ${receiver.twice}; delivered ${seconds(startedAtMs)} after the start`,
  );
  await after.served.stop();
  await receiver.server.stop(true);
} finally {
  await instances.stop();
  await stopPostgres();
}
